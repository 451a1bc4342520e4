import { describe, expect, test } from "vitest";
import { Audit } from "@convoke/engine";
import { scriptedModel } from "@convoke/runtime/testing";
import { Client, servedAgent } from "../approvals/a-served-agent.ts";
import { aGuardedTool } from "../approvals/a-guarded-tool.ts";
import { calls } from "../loop/scripts.ts";
import { memoryLogger } from "../engine/an-engine.ts";
import { verifies } from "../verifies.ts";
import { aServer, send } from "./a-measured-server.ts";

/** The audit lines of a log, by event. */
function audited(log: readonly string[]): readonly Record<string, unknown>[] {
  return log.flatMap((line) => {
    const [, fields] = /^audit: \S+ (.*)$/.exec(line) ?? [];
    return fields === undefined ? [] : [JSON.parse(fields) as Record<string, unknown>];
  });
}

describe("is on record", () => {
  verifies("v1-S64", "a login that failed, without what was guessed", async () => {
    const { url, log } = await aServer({ token: "right" });

    await send(url, "go");
    await send(url, "go", { authorization: "Bearer guessed-canary", "x-request-id": "req-1" });

    expect(audited(log)).toEqual([
      {
        audit: true,
        event: "login.failed",
        requestId: "req-1",
        method: "POST",
        path: "/",
        agentId: expect.any(String),
        address: "127.0.0.1",
      },
    ]);
    expect(log.join("\n")).not.toContain("canary");
  });

  test("a request that was denied, on every binding", async () => {
    const { url, log } = await aServer();
    const origin = { origin: "https://evil.example" };

    await send(url, "go", origin);
    await fetch(`${url}message:send`, { method: "POST", headers: origin });

    expect(audited(log)).toMatchObject([
      { event: "access.denied", path: "/", problem: expect.stringContaining("evil.example") },
      { event: "access.denied", path: "/message:send" },
    ]);
  });

  test("who answered an approval, and how", async () => {
    const { guarded } = aGuardedTool();
    const model = scriptedModel([
      calls("delete", { path: "a" }),
      calls("delete", { path: "b" }),
      "Done.",
    ]);
    const agent = await servedAgent({ model, tools: [guarded] });
    const client = new Client(agent);
    const task = await client.send("go");
    const pending = async (): Promise<readonly string[]> => {
      const { body } = await client.fetch("/convoke/approvals");
      return (body["approvals"] as readonly { readonly id: string }[]).map((one) => one.id);
    };
    const [id = ""] = await pending();

    await client.fetch(`/convoke/approvals/${encodeURIComponent(id)}:answer`, { decision: "once" });
    // The next question, and not the one that was answered.
    await expect.poll(pending, { timeout: 20_000 }).toEqual([expect.not.stringContaining(id)]);
    await client.send("no", { taskId: task.id });

    const facts = { audit: true, event: "approval.answered", tool: "delete", taskId: task.id };
    expect(audited(agent.log)).toMatchObject([
      { ...facts, approvalId: id, option: "once", owner: "anonymous" },
      { ...facts, option: "in words", owner: "anonymous" },
    ]);
  });

  test("that deliveries were replayed", async () => {
    const { url, log } = await aServer();

    await fetch(`${url}convoke/pushes:replay`, { method: "POST" });

    expect(audited(log)).toMatchObject([
      { event: "push.replayed", owner: "anonymous", replayed: 0 },
    ]);
  });
});

test("a flood of failures is cut off, and the number of the others is on record", () => {
  const logger = memoryLogger();
  const clock = { now: 0 };
  const audit = new Audit(logger, { now: () => clock.now });

  for (let n = 0; n < 1000; n++) audit.record("access.denied", { n });
  audit.record("push.replayed", {});
  clock.now += 10_000;
  audit.record("login.failed", { n: "last" });

  expect(logger.lines).toHaveLength(102);
  expect(audited(logger.lines).at(-1)).toMatchObject({ n: "last", suppressed: 900 });
});

test("entries wait for a store that does not answer, and are logged as errors if they do not fit", async () => {
  const logger = memoryLogger();
  const stored: string[] = [];
  let isAway = true;
  const audit = new Audit(logger, {
    store: {
      append: async ({ json }) => {
        if (isAway) throw Object.assign(new Error("away"), { isPermanent: false });
        stored.push(json);
      },
    },
  });
  const entries = Array.from({ length: 10_001 }, (_, n) => ({ n }));

  for (const entry of entries) audit.record("approval.answered", entry);
  isAway = false;

  const kept = entries.slice(0, -1).map((entry) => JSON.stringify(entry));
  await expect.poll(() => stored.length).toBe(kept.length);
  expect(stored).toEqual(kept);
  const lost = logger.lines.filter((line) => line.startsWith("an audit entry could not be stored"));
  expect(lost).toEqual([expect.stringContaining('"n":10000')]);
});

test("entries that wait when the server stops are logged as errors", async () => {
  const logger = memoryLogger();
  const closing = new AbortController();
  const store = { append: () => Promise.reject(new Error("away")) };
  const audit = new Audit(logger, { store, closing: closing.signal });

  audit.record("task.ended", { taskId: "t1" });
  audit.record("task.ended", { taskId: "t2" });
  closing.abort();

  await expect
    .poll(() => logger.lines.filter((line) => line.includes("could not be stored")))
    .toEqual([expect.stringContaining('"t1"'), expect.stringContaining('"t2"')]);
});
