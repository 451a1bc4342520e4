import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { requestTrace, requestedVersion } from "./exchange.ts";
import { aRequest } from "./a-request.suite.ts";

test("a request without a version has none", () => {
  expect(requestedVersion(aRequest())).toBeUndefined();
});

test("the version may be in the header or in the query", () => {
  const inHeader = aRequest({ headers: { "a2a-version": "1.0" } });
  const inQuery = aRequest({ query: new URLSearchParams({ "A2A-Version": "1.0" }) });

  expect(requestedVersion(inHeader)).toBe("1.0");
  expect(requestedVersion(inQuery)).toBe("1.0");
});

test("if both are present, the header wins", () => {
  const both = aRequest({
    headers: { "a2a-version": "0.3" },
    query: new URLSearchParams({ "A2A-Version": "1.0" }),
  });

  expect(requestedVersion(both)).toBe("0.3");
});

const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT_ID = "00f067aa0ba902b7";

function traceparent(
  parts: { version?: string; traceId?: string; parentId?: string; rest?: string } = {},
): string {
  const { version = "00", traceId = TRACE_ID, parentId = PARENT_ID, rest = "01" } = parts;
  return [version, traceId, parentId, rest].join("-");
}

function parseTrace(
  header: string | undefined,
  tracestate?: string,
): ReturnType<typeof requestTrace> {
  return requestTrace(aRequest({ headers: { traceparent: header, tracestate } }));
}

verifies("R121", "the caller's trace is continued with a span of our own", () => {
  const trace = parseTrace(traceparent());

  expect(trace).toEqual({
    traceId: TRACE_ID,
    spanId: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
  });
  expect(trace?.spanId).not.toBe(PARENT_ID);
});

verifies("R121", "the flags that the standard defines are propagated, others are not", () => {
  const flags = (rest: string): string | undefined => parseTrace(traceparent({ rest }))?.flags;

  expect(flags("00")).toBe("00");
  expect(flags("02")).toBe("02");
  expect(flags("03")).toBe("03");
  expect(flags("f8")).toBe("00");
  // The default of a trace.
  expect(flags("01")).toBeUndefined();
});

test("each request gets its own span", () => {
  const spans = Array.from({ length: 100 }, () => parseTrace(traceparent())?.spanId);

  expect(new Set(spans).size).toBe(100);
});

test("without a header there is no trace", () => {
  expect(parseTrace(undefined)).toBeUndefined();
});

test("white space around the header does not matter", () => {
  expect(parseTrace(` ${traceparent()} `)?.traceId).toBe(TRACE_ID);
});

test("what a later version adds at the end is ignored", () => {
  const header = traceparent({ version: "cc", rest: "01-what-the-future-brings" });

  expect(parseTrace(header)?.traceId).toBe(TRACE_ID);
  expect(parseTrace(traceparent({ version: "01" }))?.traceId).toBe(TRACE_ID);
});

describe("a malformed header starts no trace", () => {
  for (const [what, header] of [
    ["empty", ""],
    ["of another kind", "hello"],
    ["without flags", `00-${TRACE_ID}-${PARENT_ID}`],
    ["with a trace of zeros", traceparent({ traceId: "0".repeat(32) })],
    ["with a parent of zeros", traceparent({ parentId: "0".repeat(16) })],
    ["of the forbidden version ff", traceparent({ version: "ff" })],
    ["of version 00 with extra fields", traceparent({ rest: "01-more" })],
    ["with a short trace", traceparent({ traceId: TRACE_ID.slice(1) })],
    ["with a long trace", traceparent({ traceId: `${TRACE_ID}0` })],
    ["with a short parent", traceparent({ parentId: PARENT_ID.slice(1) })],
    ["with capital letters", traceparent({ traceId: TRACE_ID.toUpperCase() })],
    ["with letters beyond f", traceparent({ traceId: TRACE_ID.replace("f", "g") })],
    ["with something before it", `x${traceparent()}`],
    ["with something appended to its flags", traceparent({ version: "01", rest: "01x" })],
    ["of two lines", `${traceparent()}\n${traceparent()}`],
  ] as const) {
    test(what, () => {
      expect(parseTrace(header)).toBeUndefined();
    });
  }
});

verifies("R121", "a well-formed tracestate is propagated unchanged", () => {
  const state = "congo=t61rcWkgMzE,rojo@vendor=00f067aa0ba902b7";

  expect(parseTrace(traceparent(), ` ${state.replace(",", " , ")} `)?.state).toBe(state);
  for (const malformed of [
    "",
    ",",
    "no-value",
    "Upper=1",
    "a=1,,b",
    `a=${"x".repeat(600)}`,
    "a=\n",
  ]) {
    const trace = parseTrace(traceparent(), malformed);
    expect(trace?.traceId).toBe(TRACE_ID);
    expect(trace).not.toHaveProperty("state");
  }
  expect(parseTrace(undefined, state)).toBeUndefined();
});
