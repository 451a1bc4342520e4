import { serve } from "convoke";
import { expect, onTestFinished, test } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";
import { needsPostgres } from "../harness/postgres.ts";
import { aTalker } from "../host/three-agents.ts";

const address = needsPostgres();

test("an agent that is disabled at one server is disabled at all within a second, and after a restart", async () => {
  const database = await address();
  const started = async () => {
    const logger = memoryLogger();
    const server = await serve([aTalker("Ann"), aTalker("Bob")], { port: 0, database, logger });
    onTestFinished(() => server.close());
    const bobIsEnabled = (): boolean | undefined =>
      [...server.agents].find(({ id }) => id === "bob")?.isEnabled;
    const change = async (action: "disable" | "enable"): Promise<number> =>
      (await fetch(`${server.url}convoke/agents/bob:${action}`, { method: "POST" })).status;
    return { server, bobIsEnabled, change };
  };
  const [a, b] = await Promise.all([started(), started()]);

  expect(await a.change("disable")).toBe(200);
  expect(a.bobIsEnabled()).toBe(false);
  await expect.poll(b.bobIsEnabled).toBe(false);

  await a.server.close();
  const c = await started();
  expect(c.bobIsEnabled()).toBe(false);
  expect(await c.change("enable")).toBe(200);
  await expect.poll(b.bobIsEnabled).toBe(true);
});
