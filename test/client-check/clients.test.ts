import {
  CLIENT_PROBES,
  type ClientCheckSettings,
  type DriveClient,
  type ProbeResult,
  type Results,
  checkClient,
} from "@convoke/check";
import { beforeAll, describe, expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import { flawedClient, naiveReader } from "./flawed-clients.ts";
import { ourClient } from "./our-client.ts";

/** The requirements of clients that the probes cover completely. */
const PROVEN = ["v1-C1", "v1-C2", "v1-C4", "v1-C16", "v03-C1", "v03-C2", "v03-C4", "v03-C7"];

/** Some probes take seconds, and all of them share a machine that may be busy. */
const LIMIT_MS = 120_000;

describe("our client", () => {
  let results: Results;
  beforeAll(async () => {
    results = await check(ourClient());
  }, LIMIT_MS);

  verifies(PROVEN, "passes every probe on every binding in both versions", () => {
    expect(resultsOf(results, "failed")).toEqual([]);
    expect(resultsOf(results, "skipped")).toEqual([]);
    expect(results.sections.map(({ name }) => name)).toEqual([
      "JSONRPC 1.0",
      "HTTP+JSON 1.0",
      "GRPC 1.0",
      "JSONRPC 0.3",
      "HTTP+JSON 0.3",
      "GRPC 0.3",
    ]);
  });

  test("is checked by more than 40 probes, each with a name of its own", () => {
    expect(CLIENT_PROBES.length).toBeGreaterThan(40);
    expect(new Set(CLIENT_PROBES.map(({ name }) => name)).size).toBe(CLIENT_PROBES.length);
  });
});

test(
  "every probe fails a client that does wrong what the probe is about",
  async () => {
    const results = await check(flawedClient, { versions: ["1.0"], bindings: ["jsonrpc", "rest"] });

    expect(idsOf(results, "passed")).toEqual([]);
    expect(idsOf(results, "skipped")).toEqual([]);
    const failed = new Set(idsOf(results, "failed"));
    expect(failed).toEqual(new Set(CLIENT_PROBES.map(({ name }) => `v1-client.${name}`)));
  },
  LIMIT_MS,
);

test("a client that reads only the usual form of a stream fails at the other forms", async () => {
  const only = CLIENT_PROBES.filter(({ name }) => name.startsWith("sse-")).map(
    ({ name }) => `v1-client.${name}`,
  );

  const results = await check(naiveReader, { versions: ["1.0"], bindings: ["jsonrpc"], only });

  expect(idsOf(results, "failed")).toEqual([
    "v1-client.sse-split",
    "v1-client.sse-crlf",
    "v1-client.sse-cr",
    "v1-client.sse-comments",
    "v1-client.sse-lines",
    "v1-client.sse-no-space",
    "v1-client.sse-fields",
    "v1-client.sse-byte-order-mark",
  ]);
});

function check(drive: DriveClient, selection: Partial<ClientCheckSettings> = {}): Promise<Results> {
  return checkClient({
    versions: [],
    bindings: [],
    only: [],
    drive,
    // They mostly wait.
    atOnce: 16,
    timeoutMs: 20_000,
    signal: new AbortController().signal,
    ...selection,
  });
}

function resultsOf({ sections }: Results, outcome: string): readonly ProbeResult[] {
  return sections.flatMap(({ results }) => results.filter((each) => each.outcome === outcome));
}

function idsOf(results: Results, outcome: string): readonly string[] {
  return resultsOf(results, outcome).map(({ id }) => id);
}
