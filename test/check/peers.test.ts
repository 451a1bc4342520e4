import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Report } from "@convoke/check";
import type { PeerServer } from "./peer-server.ts";
import { HABITS, check, idsOf, resultOf, stumbles } from "./run-check.ts";
import { startSdkV03 } from "./sdk-v03-server.ts";
import { startSdkV1 } from "./sdk-v1-server.ts";

// Both SDKs log rejected requests to the console.
vi.spyOn(console, "error").mockReturnValue();
vi.spyOn(console, "warn").mockReturnValue();
vi.spyOn(console, "info").mockReturnValue();
vi.spyOn(console, "log").mockReturnValue();

/** Both SDKs accept invalid messages, and webhooks with any target. */
const TAKES_ANYTHING_V03 = [
  "v03-S14.empty-parts",
  "v03-S14.negative-history",
  "v03-S14.no-web-address",
  "v03-S17.private-address",
];
const TAKES_ANYTHING_V1 = [
  "v1-S46.empty-parts",
  "v1-S48.negative-history",
  "v1-S46.no-role",
  "v1-S46.empty-part",
  "v1-S46.empty-second-part",
  "v1-S43.private-address",
  "v1-S43.no-web-address",
];

describe("@a2a-js/sdk 1.3.0", () => {
  const report = useReport(startSdkV1);

  test.each([
    ["Agent card", ["v1-S44.security-schemes", "v03-S3.main-is-listed", "v1-S4.last-modified"]],
    [
      "JSONRPC 1.0",
      [
        ...TAKES_ANYTHING_V1,
        "v1-S7.patch",
        "v1-S7.in-query",
        "v1-S48.context-of-wrong-type",
        "v1-S48.not-base64",
        "v1-S48.parts-of-wrong-type",
        "v1-S48.unknown-role",
        "v1-S50.not-a-request",
        "v1-S50.other-jsonrpc",
        "v1-S64.large-message",
      ],
    ],
    [
      "HTTP+JSON 1.0",
      [
        ...TAKES_ANYTHING_V1,
        "v1-S44.proto-names",
        "v1-S7.patch",
        "v1-S7.in-query",
        "v1-S48.context-of-wrong-type",
        "v1-S48.not-base64",
        "v1-S48.parts-of-wrong-type",
        "v1-S48.unknown-role",
        "v1-S64.large-message",
      ],
    ],
    ["GRPC 1.0", [...TAKES_ANYTHING_V1, "v1-S5.unusual-content", "v1-S7.patch"]],
    [
      "JSONRPC 0.3",
      [
        ...TAKES_ANYTHING_V03,
        "v03-S4.waits-by-default",
        "v03-S7.stream-error",
        "v03-S14.context-of-wrong-type",
        "v03-S14.large-message",
        "v03-S14.not-base64",
        "v03-S17.notification",
        "v03-S17.token",
        "v03-S21.final-at-question",
      ],
    ],
    [
      "HTTP+JSON 0.3",
      [
        ...TAKES_ANYTHING_V03,
        "v03-S4.history-of-send",
        "v03-S5.own-id",
        "v03-S14.context-of-wrong-type",
        "v03-S14.large-message",
        "v03-S14.not-base64",
        "v03-S14.parts-of-wrong-type",
        "v03-S17.notification",
        "v03-S17.token",
        "v03-S21.final-at-question",
      ],
    ],
    [
      "GRPC 0.3",
      [
        ...TAKES_ANYTHING_V03,
        "v03-S4.history-of-send",
        "v03-S17.notification",
        "v03-S17.token",
        "v03-S21.final-at-question",
      ],
    ],
  ])("at %s fails exactly these", (name, ids) => {
    expect(idsOf(report(), "failed", name).toSorted()).toEqual(ids.toSorted());
  });

  test("gets enough requests for that to be significant", () => {
    expect(report().counts.passed).toBeGreaterThan(350);
  });

  test("sends nothing that the checker cannot interpret", () => {
    expect(stumbles(report())).toEqual([]);
  });

  test("rejects a patch version with an explanation, which the report quotes", () => {
    const { sent, received, expected, section, level } = resultOf(report(), "v1-S7.patch");

    expect(level).toBe("MUST");
    expect(section).toBe("1.0 §3.6");
    expect(sent).toContain("a2a-version: 1.0.1");
    expect(received).toContain("-32009");
    expect(expected).toBe("the same as for version 1.0, not an error");
  });

  test("serves its security schemes in its internal form", () => {
    expect(resultOf(report(), "v1-S44.security-schemes").received).toContain('"$case"');
  });

  test("sends final: false when a stream ends with a question", () => {
    const { received } = resultOf(report(), "v03-S21.final-at-question");

    expect(received).toContain("input-required");
    expect(received).toContain('"final":false');
  });
});

describe("@a2a-js/sdk 0.3.14", () => {
  const report = useReport(startSdkV03);

  test.each([
    ["Agent card", []],
    [
      "JSONRPC 0.3",
      [
        ...TAKES_ANYTHING_V03,
        "v03-S4.history-of-send",
        "v03-S14.context-of-wrong-type",
        "v03-S14.empty-part",
        "v03-S14.empty-second-part",
        "v03-S14.large-message",
        "v03-S14.no-message",
        "v03-S14.not-base64",
        "v03-S14.no-role",
        "v03-S14.parts-of-wrong-type",
        "v03-S14.unknown-role",
        "v03-S17.authorization",
      ],
    ],
    [
      "HTTP+JSON 0.3",
      [
        ...TAKES_ANYTHING_V03,
        "v03-S4.history-of-send",
        "v03-S11.subscribe-unknown",
        "v03-S14.context-of-wrong-type",
        "v03-S14.large-message",
        "v03-S14.not-base64",
        "v03-S14.parts-of-wrong-type",
        "v03-S17.authorization",
      ],
    ],
    [
      "GRPC 0.3",
      [
        ...TAKES_ANYTHING_V03,
        "v03-S4.history-of-send",
        "v03-S10.unusual-content",
        "v03-S14.no-message",
        "v03-S17.authorization",
      ],
    ],
  ])("at %s fails exactly these", (name, ids) => {
    expect(idsOf(report(), "failed", name).toSorted()).toEqual(ids.toSorted());
  });

  test("gets enough requests for that to be significant", () => {
    expect(report().counts.passed).toBeGreaterThan(140);
  });

  test("is not judged by the rules of a version that it does not claim", () => {
    const failed = idsOf(report(), "failed");

    expect(failed.filter((id) => id.startsWith("v1-"))).toEqual([]);
    expect(resultOf(report(), "v1-S4.cache-control").reason).toBe("the card has no 1.0 form");
  });
});

/** The report about a server; the check runs once for all tests. */
function useReport(start: () => Promise<PeerServer>): () => Report {
  let report: Report;
  let server: PeerServer;
  beforeAll(async () => {
    server = await start();
    const options = ["--timeout", "20", "--allow-origin", server.grpcOrigin, ...HABITS];
    ({ report } = await check(server.url, ...options));
  }, 120_000);
  afterAll(() => server.close());
  return () => report;
}
