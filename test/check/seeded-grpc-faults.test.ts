import { describe, expect, test } from "vitest";
import { HABITS, check, idsOf, resultOf } from "./run-check.ts";
import { type GrpcFault, serveSpoiledGrpc } from "./spoiling-grpc.ts";

const FAULTS: readonly (readonly [title: string, id: string, fault: GrpcFault])[] = [
  [
    "errors without details",
    "v1-S53.error-info",
    { answer: (headers) => without(headers, "grpc-status-details-bin") },
  ],
  [
    "a status that hides the cause",
    "v1-S19.get-unknown",
    {
      answer: (headers) => ({
        ...without(headers, "grpc-status-details-bin"),
        ...(headers["grpc-status"] === "5" && { "grpc-status": "13" }),
      }),
    },
  ],
  [
    "one status for all errors",
    "v1-S53.error-status",
    {
      answer: (headers) =>
        headers["grpc-status"] === "5" ? { ...headers, "grpc-status": "13" } : headers,
    },
  ],
  [
    "another content type",
    "v1-S53.content-type",
    {
      answer: (headers) =>
        "content-type" in headers ? { ...headers, "content-type": "text/plain" } : headers,
    },
  ],
  [
    "an unknown method reported as an internal error",
    "v1-S53.unknown-method",
    {
      answer: (headers) =>
        headers["grpc-status"] === "12" ? { ...headers, "grpc-status": "2" } : headers,
    },
  ],
  [
    "any version is accepted",
    "v1-S6.unknown-version",
    { ask: (metadata) => ({ ...metadata, "a2a-version": "1.0" }) },
  ],
  [
    "errors without a message",
    "v1-S49.message",
    { answer: (headers) => without(headers, "grpc-message") },
  ],
];

describe("over gRPC 1.0", () => {
  test("nothing is found without a fault", async () => {
    const { url, origin } = await serveSpoiledGrpc({});
    const only = FAULTS.map(([, id]) => id).join(",");

    const { report } = await check(url, "--allow-origin", origin, "--only", only, ...HABITS);

    expect(idsOf(report, "failed")).toEqual([]);
    for (const [, id] of FAULTS) expect([id, resultOf(report, id).outcome]).toEqual([id, "passed"]);
  });

  test.each(FAULTS)("%s is found by %s", async (_, id, fault) => {
    const { url, origin } = await serveSpoiledGrpc(fault);

    const { report } = await check(url, "--allow-origin", origin, "--only", id, ...HABITS);

    const { outcome, sent, received, expected } = resultOf(report, id);
    expect(outcome).toBe("failed");
    for (const told of [sent, received, expected]) expect(told).not.toBe("");
  });
});

describe("the extended card over gRPC 1.0", () => {
  const id = "v1-S57.extended-card";
  const guard = { token: "a-secret", extendedCard: () => ({ description: "For you." }) };

  test.each<readonly [title: string, outcome: string, fault: GrpcFault]>([
    ["that requires credentials", "passed", {}],
    [
      "that every caller gets",
      "failed",
      { ask: (metadata) => ({ ...metadata, authorization: "Bearer a-secret" }) },
    ],
  ])("%s has %s", async (_, outcome, fault) => {
    const { url, origin } = await serveSpoiledGrpc(fault, guard);
    const options = ["--allow-origin", origin, "--token", "a-secret", "--only", id];

    const { report } = await check(url, ...options);

    expect(resultOf(report, id).outcome).toBe(outcome);
  });
});

function without(
  headers: Readonly<Record<string, string>>,
  name: string,
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).filter(([key]) => key !== name));
}
