import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { createEgress } from "@convoke/egress";
import { MemoryRegistryStore, createJsonLogger } from "@convoke/engine";
import { aRegistryRecord } from "@convoke/engine/testing";
import { expect, onTestFinished, test } from "vitest";
import { HealthChecks } from "./health-checks.ts";

test("of two servers that share a registry, one checks an agent that is due", async () => {
  let requests = 0;
  const agent = createServer((_, response) => {
    requests++;
    // Long enough for both to find that it is due.
    void sleep(300).then(() => response.writeHead(404).end());
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => agent.once("listening", resolve));
  const { port } = agent.address() as { readonly port: number };
  const store = new MemoryRegistryStore();
  const now = new Date().toISOString();
  const record = aRegistryRecord({ cardUrl: `http://127.0.0.1:${port}/card`, heartbeatAt: now });
  await store.register(record, { perOwner: 1, total: 1 }, (known) => known);

  const day = 86_400_000;
  const parts = { store, checkEveryMs: 5000, staleAfterMs: day, removeAfterMs: day };
  const egress = createEgress({ allow: ["127.0.0.1"] });
  const logger = createJsonLogger("silent", () => undefined);
  const both = [1, 2].map(() => new HealthChecks({ ...parts, egress, logger }));
  onTestFinished(async () => {
    await Promise.all(both.map((checks) => checks.close()));
    agent.close();
  });

  await expect.poll(async () => (await store.get("a"))?.health.checks, { timeout: 20_000 }).toBe(1);
  expect(requests).toBe(1);
});
