import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { jsonValues } from "../testing/arbitraries.suite.ts";
import { checkId, errorText, idOf, parseRequest, resultPrefix, resultText } from "./jsonrpc.ts";

const envelope = { jsonrpc: "2.0", id: 1, method: "message/send", params: { a: 1 } };

verifies(
  ["R7"],
  "an id is any value that the caller chose, also 0, the empty string and null",
  () => {
    for (const id of [0, "", null, 1, -1.5, "a-b", "0"]) {
      expect(parseRequest({ ...envelope, id }).id).toBe(id);
      expect(idOf({ id })).toBe(id);
    }
  },
);

test("an opened envelope has the method and the params unchanged", () => {
  const { params: _, ...bare } = envelope;

  expect(parseRequest(envelope)).toEqual({ id: 1, method: "message/send", params: { a: 1 } });
  expect(parseRequest(bare).params).toBeUndefined();
  expect(parseRequest({ ...envelope, extra: true })).toEqual(parseRequest(envelope));
});

describe("an invalid envelope", () => {
  const { jsonrpc: _, ...withoutVersion } = envelope;
  const { method: __, ...withoutMethod } = envelope;
  const refused: readonly (readonly [string, unknown, string | undefined, unknown])[] = [
    ["a batch", [envelope], undefined, null],
    ["an empty batch", [], undefined, null],
    ["text", "hello", undefined, null],
    ["a number", 5, undefined, null],
    ["null", null, undefined, null],
    ["no jsonrpc", withoutVersion, "jsonrpc", 1],
    ["jsonrpc 1.0", { ...envelope, jsonrpc: "1.0" }, "jsonrpc", 1],
    ["a number for jsonrpc", { ...envelope, jsonrpc: 2 }, "jsonrpc", 1],
    ["no method", withoutMethod, "method", 1],
    ["a number for a method", { ...envelope, method: 5 }, "method", 1],
    ["an id of 0 and no method", { ...withoutMethod, id: 0 }, "method", 0],
  ];

  for (const [what, body, field, id] of refused) {
    verifies(["R2"], `${what} is an invalid request, and its id is echoed or null`, () => {
      expect(() => parseRequest(body)).toThrow(
        expect.objectContaining({ reason: "InvalidRequest", field }),
      );
      expect(idOf(body)).toBe(id);
    });
  }

  for (const [what, id] of [
    ["an object for an id", { bad: "type" }],
    ["a list for an id", [1]],
    ["a boolean for an id", true],
    ["an infinite id", Infinity],
  ] as const) {
    verifies(["R2"], `${what} is an invalid request, and null is echoed`, () => {
      for (const body of [
        { ...envelope, id },
        { ...envelope, id, method: "no/such", params: {} },
      ]) {
        expect(() => parseRequest(body)).toThrow(
          expect.objectContaining({ reason: "InvalidRequest", field: "id" }),
        );
        expect(idOf(body)).toBeNull();
      }
    });
  }

  verifies(["R2"], "no id is an invalid request, after everything else was checked", () => {
    const { id: _, ...notification } = envelope;
    const opened = parseRequest(notification);

    expect(opened).toMatchObject({ method: "message/send", params: { a: 1 } });
    expect(() => checkId(opened)).toThrow(
      expect.objectContaining({ reason: "InvalidRequest", field: "id" }),
    );
    expect(idOf(notification)).toBeNull();
  });

  test("no body of any kind throws another error", () => {
    fc.assert(
      fc.property(jsonValues, (body) => {
        const id = idOf(body);

        expect(id === null || typeof id === "string" || typeof id === "number").toBe(true);
        expect(() => parseRequest(body)).toThrow(
          expect.objectContaining({ reason: "InvalidRequest" }),
        );
      }),
    );
    expect(idOf(undefined)).toBeNull();
  });
});

const ids = fc.oneof(fc.constantFrom(0, "", null), fc.integer(), fc.string());

verifies(["R7"], "a response has the id of its request, of any type", () => {
  fc.assert(
    fc.property(ids, jsonValues, (id, value) => {
      const result: unknown = JSON.parse(resultText(id, value));
      const error: unknown = JSON.parse(errorText(id, { code: -32603, message: "no" }));

      expect(result).toStrictEqual({ jsonrpc: "2.0", id, result: value });
      expect(error).toStrictEqual({ jsonrpc: "2.0", id, error: { code: -32603, message: "no" } });
    }),
  );
});

test("responses with the same result differ only in what precedes it", () => {
  const result = { kind: "task" };
  const text = JSON.stringify(result);

  expect(resultText(7, result)).toBe(`${resultPrefix(7)}${text}}`);
  expect(resultText("a", result)).toBe(`${resultPrefix("a")}${text}}`);
});

verifies(["R7"], "an error keeps its data", () => {
  const error = { code: -32602, message: "Invalid parameters", data: { field: "message" } };

  expect(JSON.parse(errorText(1, error))).toEqual({ jsonrpc: "2.0", id: 1, error });
});
