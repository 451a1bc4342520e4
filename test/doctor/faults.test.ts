import { afterAll, beforeAll, expect, test } from "vitest";
import { type Spoiler, startSpoiler } from "../check/spoiling-proxy.ts";
import { examine } from "./examine.ts";
import { SEEDED_FAULTS } from "./seeded-faults.ts";

let spoiler: Spoiler;
beforeAll(async () => {
  // The proxy speaks only HTTP/1.1, so there is no gRPC behind it.
  spoiler = await startSpoiler({ card: { bindings: ["JSONRPC", "HTTP+JSON"] } });
});
afterAll(() => spoiler.close());

test("the server without a fault is healthy", async () => {
  const { verdict, ids, findings } = await examine(spoiler.spoil({}));

  expect(ids, JSON.stringify(findings)).toEqual([]);
  expect(verdict).toBe("healthy");
});

test.each(SEEDED_FAULTS)("$fault: $id", async ({ id, host, options, ...fault }) => {
  const url = spoiler.spoil(fault).replace("127.0.0.1", host ?? "127.0.0.1");

  const { ids, findings } = await examine(url, options);

  expect([...new Set(ids)], JSON.stringify(findings)).toEqual([id]);
});

test("a stream that takes too long is not a fault, and its task is canceled", async () => {
  const bodies: string[] = [];
  const url = spoiler.spoil({ instead: ({ body }) => void bodies.push(body) });

  const { ids, findings } = await examine(url, { text: "slow 1000", streamMs: 3000 });

  expect(ids, JSON.stringify(findings)).toEqual([]);
  expect(findings.skipped).toContain("The end of the stream: it took more than 3 s");
  expect(bodies.at(-1)).toContain('"method":"CancelTask"');
});
