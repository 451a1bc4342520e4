import type { AgentServer } from "convoke";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { keptPort } from "../harness/kept-port.ts";
import { serveAgent, serveDirectory } from "./a-directory.ts";

const HOUR_MS = 60 * 60_000;

const ALLOW = ["127.0.0.1"];

let poet: AgentServer;

beforeAll(async () => {
  poet = await serveAgent("Poet");
});

afterAll(() => poet.close());

afterEach(() => void vi.useRealTimers());

/** Moves the clock, but no timer. */
function later(ms: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ms });
}

test("an agent is inactive after 24 hours without a heartbeat, until the next one", async () => {
  await using directory = await serveDirectory();
  const { id } = await directory.register("ann", poet.url);

  later(23 * HOUR_MS);
  expect(await directory.get("ann", id)).toMatchObject({ state: "active" });
  later(HOUR_MS);

  expect(await directory.get("ann", id)).toMatchObject({ state: "inactive" });
  expect(await directory.search("ann", "?state=active")).toEqual([]);
  expect(await directory.search("ann", "?state=inactive")).toHaveLength(1);
  const { body } = await directory.ask("ann", `/${id}:heartbeat`, { body: {} });
  expect(body).toMatchObject({ state: "active" });
});

test("an agent is removed after 30 days without a heartbeat", async () => {
  await using directory = await serveDirectory({ allow: ALLOW, checkEveryMs: 100 });
  await directory.register("ann", poet.url);

  later(29 * 24 * HOUR_MS);
  expect(await directory.search("ann")).toHaveLength(1);
  later(24 * HOUR_MS);

  await expect.poll(() => directory.search("ann"), { timeout: 20_000 }).toEqual([]);
});

test("an agent that has stopped is down, and up again when it answers", async () => {
  await using directory = await serveDirectory({ allow: ALLOW, checkEveryMs: 20 });
  const bard = await serveAgent("Bard", await keptPort());
  const { id } = await directory.register("ann", bard.url);
  const health = async () => (await directory.get("ann", id)).health;
  const within = { timeout: 20_000 };
  await expect.poll(async () => (await health()).checks, within).toBeGreaterThan(1);
  const { lastSeenAt, latencyMs } = await health();

  await bard.close();
  await expect.poll(async () => (await health()).failures, within).toBeGreaterThan(1);

  const down = await health();
  expect(down).toMatchObject({ state: "down", problem: expect.stringContaining("127.0.0.1") });
  expect(down.answered).toBeLessThan(down.checks);
  expect(Date.parse(down.lastSeenAt!)).toBeGreaterThanOrEqual(Date.parse(lastSeenAt!));
  expect(latencyMs).toBeGreaterThanOrEqual(0);
  const again = await serveAgent("Bard", bard.port);
  onTestFinished(() => again.close());
  await expect.poll(async () => (await health()).state, within).toBe("up");
  expect((await health()).failures).toBe(0);
});

test("a restart keeps the entries and their health", async () => {
  const data = mkdtempSync(join(tmpdir(), "convoke-registry-"));
  onTestFinished(() => rmSync(data, { recursive: true, force: true }));
  const before = await serveDirectory({ allow: ALLOW }, { data });
  const entry = await before.register("ann", poet.url, { tags: ["ours"] });
  await before.close();

  await using after = await serveDirectory({ allow: ALLOW }, { data });

  expect(await after.search("ann")).toEqual([entry]);
});

test.each([
  [{ staleAfterMs: 0 }, "registry.staleAfterMs must be a number of at least 1, not 0"],
  [{ removeAfterMs: 10 }, "registry.removeAfterMs must not be less than registry.staleAfterMs"],
  [{ allow: ["http://x/"] }, "http://x/"],
])("a registry with %j does not start", async (registry, problem) => {
  await expect(serveDirectory(registry)).rejects.toThrow(problem);
});
