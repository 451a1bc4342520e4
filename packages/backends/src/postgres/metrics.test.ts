import { type CommitStep, MetricsRegistry } from "@convoke/engine";
import { expect, onTestFinished, test } from "vitest";
import { emptySchemas } from "./empty-schema.suite.ts";
import { noHints } from "./no-hints.suite.ts";
import { startKeeperHere } from "./lease.ts";
import { openWithParts } from "./postgres-backend.ts";

const schemas = emptySchemas();
const EVENTUALLY = { timeout: 20_000, interval: 20 };

test("the lease, stale commits, mailbox entries, and followed tasks of others are measured", async () => {
  const { url, schema } = await schemas();
  const metrics = new MetricsRegistry();
  // Without hints, everything that another process does is found by looking.
  const parts = { startKeeper: startKeeperHere, openBus: noHints };
  const a = await openWithParts({ url, metrics }, parts);
  const b = await openWithParts({ url }, parts);
  onTestFinished(() => b.close());
  const value = (name: string): number =>
    Number(new RegExp(`^${name} (.+)$`, "m").exec(metrics.text())?.[1]);
  const step = (taskId: string, head: number): CommitStep => ({
    taskId,
    ...(head === 0 && {
      create: { owner: "ann", contextId: "c1", agent: "greeter", createdAt: 1 },
    }),
    after: { head, epoch: 1 },
    epoch: 1,
    events: [`{"e":${head}}`],
    state: "working",
    statusAt: 1,
    listed: true,
    running: true,
  });
  a.sharing?.onMailbox(() => undefined);
  await Promise.all([a.commit(step("of-a", 0)), b.commit(step("of-b", 0))]);

  a.watch("of-a", () => undefined);
  const stop = a.watch("of-b", () => undefined);
  await b.commit(step("of-b", 1));
  await b.sharing?.post("of-a", { kind: "cancel", json: "{}" });
  await b.sharing?.post("of-a", { kind: "cancel", json: "{}" });
  await a.commit(step("of-a", 7));

  expect(value("convoke_stale_commits_total")).toBe(1);
  expect(value("convoke_followed_tasks")).toBe(1);
  await expect.poll(() => value("convoke_hints_missed_total"), EVENTUALLY).toBeGreaterThan(0);
  await expect.poll(() => value("convoke_mailbox_entries"), EVENTUALLY).toBe(2);
  const age = value(`convoke_lease_age_seconds\\{schema="${schema}"\\}`);
  expect(age).toBeGreaterThanOrEqual(0);
  expect(age).toBeLessThan(30);
  stop();
  expect(value("convoke_followed_tasks")).toBe(0);
  await a.close();
  expect(metrics.text()).not.toContain("convoke_lease_age_seconds{");
});
