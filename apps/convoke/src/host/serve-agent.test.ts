import { expect, test, vi } from "vitest";
import { serveDemo } from "../cli/testing/serve-demo.suite.ts";

/** A liveness bound for a slow machine. */
const WAIT = { timeout: 20_000 };

test("the memory store keeps the newest thousand ended tasks", async () => {
  const { agent } = await serveDemo();

  for (let sent = 0; sent < 1100; sent += 1) await agent.send("hello");

  await vi.waitUntil(async () => (await agent.list({ pageSize: 1 })).totalSize === 1000, WAIT);
});

test("an explicit retention setting also applies to the memory store", async () => {
  const { agent } = await serveDemo({ retention: { maxTasks: 2, perCycle: 1 } });

  for (let sent = 0; sent < 5; sent += 1) await agent.send("hello");

  await vi.waitUntil(async () => (await agent.list({ pageSize: 1 })).totalSize === 2, WAIT);
});

test("resources are limited as the options say", async () => {
  const { agent } = await serveDemo({ limits: { textLength: 10 } });

  await expect(agent.send("far too long for it")).rejects.toThrow("textLength");
  expect((await agent.send("hello")).task?.status.state).toBe("completed");
});
