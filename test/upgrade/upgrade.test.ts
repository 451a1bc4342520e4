import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import type { Server } from "@convoke/server";
import { serve } from "convoke";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { keptPort } from "../harness/kept-port.ts";
import { AGENTS, type AgentName, CENTURY_MS, type Effect } from "./agents.ts";
import { Caller, parseWire, type Frame, type WirePart, type WireTask } from "./caller.ts";
import { CASES, type CaseName, type Facts, type RecordedTask } from "./cases.ts";
import { Webhook } from "./webhook.ts";

// Data folders that the code of commit 5d937c9 wrote before it was killed, opened by the current
// code. See write-fixture.ts. If one of these tests fails, users lose tasks when they upgrade.

const FIXTURE = fileURLToPath(new URL("./data-5d937c9", import.meta.url));
const facts = parseWire(readFileSync(join(FIXTURE, "facts.json"), "utf8")) as Facts;
const APPROVALS = "https://convoke.dev/extensions/approvals/v1";
const CLIENT_TOOLS = "https://convoke.dev/extensions/client-tools/v1";

const folder = mkdtempSync(join(tmpdir(), "convoke-upgrade-"));
const servers = new Map<AgentName, Server>();
/** What ran since the upgrade. */
const effects: Effect[] = [];
let webhook: Webhook;

beforeAll(async () => {
  cpSync(FIXTURE, folder, { recursive: true });
  webhook = await listenForPushes();
  const { url } = await start("flights");
  await Promise.all([start("planner", url), start("clerk"), start("copyist")]);
});
afterAll(async () => {
  await Promise.all([...servers.values()].map((server) => server.close()));
  await webhook[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** Serves an agent on its copied data folder. However old the fixture is, nothing in it expires. */
async function start(name: AgentName, flightsUrl = ""): Promise<Server> {
  const record = (effect: Effect): void => void effects.push(effect);
  const server = await serve(AGENTS[name]({ record, hangs: false, flightsUrl }), {
    port: 0,
    data: join(folder, name),
    idempotency: "always",
    push: {
      allow: ["127.0.0.1"],
      maxAgeMs: CENTURY_MS,
      backoff: { firstMs: 20, longestMs: 100 },
    },
    retention: { maxAgeMs: CENTURY_MS, compactAfterMs: CENTURY_MS },
  });
  servers.set(name, server);
  return server;
}

/**
 * The stored push configs contain the port of the webhook that the fixture was written with. If
 * another program uses that port, the webhook moves, and so do the configs in the copied database.
 * The schema is that of the fixture, whatever the current code makes of it afterwards.
 */
async function listenForPushes(): Promise<Webhook> {
  try {
    return await Webhook.listen(facts.hookPort, () => true);
  } catch {
    const port = await keptPort();
    using db = new DatabaseSync(join(folder, "clerk", "tasks.db"));
    db.prepare("UPDATE pushes SET config = replace(config, ?, ?)").run(
      `127.0.0.1:${facts.hookPort}/`,
      `127.0.0.1:${port}/`,
    );
    return Webhook.listen(port, () => true);
  }
}

/** The frames of the fixture as they are sent today: in 0.3 a request for authorization ends a stream. */
function framesOf(name: CaseName): readonly Frame[] {
  const text = JSON.stringify(facts.tasks[name].frames, (key, value: unknown) => {
    const { status } = (value ?? {}) as { readonly status?: { readonly state?: unknown } };
    const isLogin = key === "result" && status?.state === "auth-required";
    return isLogin ? { ...(value as object), final: true } : value;
  });
  return JSON.parse(text) as readonly Frame[];
}

function callerFor(name: CaseName): Caller {
  return new Caller(servers.get(CASES[name].agent)!.url);
}

/** Asserts that the task waits for the same as before the upgrade, and answers it. */
async function answer(name: CaseName, content: string | readonly WirePart[]): Promise<WireTask> {
  const { taskId, contextId, snapshot } = facts.tasks[name];
  const frames = framesOf(name);
  const caller = callerFor(name);
  expect(await caller.get(taskId)).toEqual(snapshot);
  expect(await caller.resume(taskId, 0, frames.length)).toEqual(frames);

  await caller.send(content, { taskId, contextId });

  const task = await ended(name);
  const after = await caller.resume(taskId, lastId(frames));
  expect(JSON.stringify(after), "it asks once").not.toMatch(/"(input|auth)-required"/);
  return task;
}

/** Follows a task from the last event that was seen before the upgrade to its end. */
async function ended(name: CaseName): Promise<WireTask> {
  const { taskId } = facts.tasks[name];
  const frames = framesOf(name);
  const caller = callerFor(name);
  const more = await caller.resume(taskId, lastId(frames));
  await expectLog(name, [...frames, ...more]);
  return caller.get(taskId);
}

/** Asserts that the log has these events, in order and once each, from any position. */
async function expectLog(name: CaseName, log: readonly Frame[]): Promise<void> {
  const ids = log.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b));
  const { taskId } = facts.tasks[name];
  const middle = ids[1]!;
  expect(await callerFor(name).resume(taskId, 0)).toEqual(log);
  expect(await callerFor(name).resume(taskId, middle)).toEqual(log.filter(({ id }) => id > middle));
}

function lastId(frames: readonly Frame[]): number {
  return frames.at(-1)!.id;
}

function textOf({ artifacts = [] }: WireTask): string {
  const parts = artifacts.flatMap((artifact) => artifact.parts);
  return parts.map(({ text = "" }) => text).join("");
}

/** The data part of what a task waits for, by the type that its extension defines. */
function requestOf({ snapshot }: RecordedTask, extension: string, type: string) {
  const parts = snapshot.status.message?.parts ?? [];
  const found = parts.find(({ metadata }) => {
    const marked = metadata?.[extension] as { readonly type?: string } | undefined;
    return marked?.type === type;
  });
  return found!.data!;
}

function ranBefore(name: string): readonly Effect[] {
  return facts.effects.filter((effect) => effect.name === name);
}

function ranSince(name: string): readonly Effect[] {
  return effects.filter((effect) => effect.name === name);
}

describe("a task that had ended", () => {
  test.each(["completed", "failed", "rejected", "canceled", "said"] as const)(
    "reads back unchanged: %s",
    async (name) => {
      const { taskId, snapshot, snapshotV1, frames } = facts.tasks[name];
      const caller = callerFor(name);

      expect(await caller.get(taskId)).toEqual(snapshot);
      expect(await caller.getV1(taskId)).toEqual(snapshotV1);
      await expectLog(name, frames);
      expect(snapshot.status.state).toBe(name === "said" ? "completed" : name);
    },
  );

  test("is joined by a retry of the message that started it", async () => {
    const { messageId, snapshot } = facts.tasks.failed;

    const task = await callerFor("failed").send(CASES.failed.text, { messageId });

    expect(task).toEqual(snapshot);
  });

  test("is remembered in its conversation", async () => {
    const { contextId } = facts.tasks.completed;

    const task = await callerFor("completed").send("recall", { contextId });

    expect(textOf(task)).toBe("greet / Hello, world. / [data]");
  });

  test("pushes the notifications that were not delivered, in order", async () => {
    const { frames } = facts.tasks.completed;
    const isAtEnd = (): boolean => webhook.at("/late").some(({ body }) => isCompleted(body));
    await expect.poll(isAtEnd, { timeout: 20_000, interval: 20 }).toBe(true);

    const received = webhook.at("/late");
    const places = received.map(({ webhookId }) => Number(webhookId.split(".").at(-1)));
    expect(places.at(-1)).toBe(lastId(frames));
    expect(places).toEqual([...new Set(places)].toSorted((a, b) => a - b));
    expect(new Set(received.map(({ token }) => token))).toEqual(new Set(["token of completed"]));
  });
});

describe("a function agent that waits", () => {
  test("gets the answer to its question, runs no finished step again, and pushes the rest", async () => {
    const task = await answer("question", "yes");

    expect(task.status.state).toBe("completed");
    expect(textOf(task)).toBe("The order cost 40. Refunded, because you said yes.");
    expect(task.artifacts?.at(-1)).toMatchObject({
      name: "receipt.json",
      parts: [{ data: { total: 40 } }],
    });
    expect(ranBefore("look up")).toHaveLength(1);
    expect(ranSince("look up")).toEqual([]);
    expect(ranSince("refund")).toHaveLength(1);
    await expectRestPushed();
  });

  /** The webhook received the beginning before the upgrade, and gets what follows it. */
  async function expectRestPushed(): Promise<void> {
    const isAtEnd = (): boolean => webhook.at("/early").some(({ body }) => isCompleted(body));
    await expect.poll(isAtEnd, { timeout: 20_000, interval: 20 }).toBe(true);

    const before = facts.arrivals.map(({ webhookId }) => webhookId);
    const since = webhook.at("/early").map(({ webhookId }) => webhookId);
    expect(before).not.toEqual([]);
    expect(since.filter((webhookId) => before.includes(webhookId))).toEqual([]);
    // Ids are built from the same parts as before: a receiver recognizes a repeated notification.
    const stem = before[0]!.slice(0, before[0]!.lastIndexOf("."));
    expect(since.every((webhookId) => webhookId.startsWith(`${stem}.`))).toBe(true);
  }

  test("is notified of the sign-in", async () => {
    expect(textOf(await answer("signIn", "Ann"))).toBe("Signed in: Ann.");
  });

  test("wakes up from a sleep that has ended", async () => {
    expect(textOf(await ended("napping"))).toBe("Slept.");
    expect(ranBefore("lie down")).toHaveLength(1);
    expect(ranSince("lie down")).toEqual([]);
  });

  test("keeps sleeping until its time, and can be canceled", async () => {
    const { taskId, snapshot } = facts.tasks.hibernating;
    const caller = callerFor("hibernating");
    expect(await caller.get(taskId)).toEqual(snapshot);

    await caller.rpc("tasks/cancel", { id: taskId });

    expect((await ended("hibernating")).status.state).toBe("canceled");
  });
});

describe("a function agent in progress", () => {
  test("repeats the interrupted step, with its key, and no finished one", async () => {
    const task = await ended("step");

    expect(task.status.state).toBe("completed");
    expect(textOf(task)).toBe("Packed. Shipped.");
    expect(ranBefore("pack")).toHaveLength(1);
    expect(ranSince("pack")).toEqual([]);
    expect(ranSince("hand over")).toEqual(ranBefore("hand over"));
  });

  test("starts over if it is declared to", async () => {
    const task = await ended("restart");

    expect(task.status.state).toBe("completed");
    expect(textOf(task)).toBe("To be, or not to be.");
    expect(ranSince("copy")).toHaveLength(1);
  });

  test("fails as interrupted if it cannot be resumed", async () => {
    const { status } = await ended("plain");

    expect(status.state).toBe("failed");
    const { taskId, frames } = facts.tasks.plain;
    const [last] = await callerFor("plain").resume(taskId, lastId(frames));
    expect(last?.result["metadata"]).toMatchObject({ reason: "interrupted" });
  });

  test("is canceled if its cancel was recorded", async () => {
    expect((await ended("canceling")).status.state).toBe("canceled");
  });
});

describe("a model agent that waits", () => {
  test("runs the guarded tool once, with the approved arguments", async () => {
    const { id: approvalId, digest } = requestOf(
      facts.tasks.approval,
      APPROVALS,
      "approval-request",
    );
    const part = {
      kind: "data",
      data: { approvalId, digest, option: "once" },
      metadata: { [APPROVALS]: { type: "approval-answer" } },
    };

    const task = await answer("approval", [part]);

    expect(task.status.state).toBe("completed");
    expect(textOf(task)).toBe("Result: paid 40");
    expect(ranBefore("pay")).toEqual([]);
    expect(ranSince("pay")).toMatchObject([{ input: { amount: 40 } }]);
  });

  test("gets the answer to the question of its tool", async () => {
    expect(textOf(await answer("toolQuestion", "window"))).toBe("Result: window");
  });

  test("gets the result of a tool of its caller", async () => {
    const { toolUseId } = requestOf(facts.tasks.clientTool, CLIENT_TOOLS, "tool-use");
    const part = {
      kind: "data",
      data: { toolUseId, result: "line seven" },
      metadata: { [CLIENT_TOOLS]: { type: "tool-result" } },
    };

    expect(textOf(await answer("clientTool", [part]))).toBe("Result: line seven");
  });
});

describe("a model agent in progress", () => {
  test("calls its model again", async () => {
    expect(textOf(await ended("model"))).toBe("Let me think. Rome.");
  });

  test("runs an idempotent tool again, with its key", async () => {
    expect(textOf(await ended("idempotentTool"))).toBe("Result: read it");
    expect(ranSince("read")).toEqual(ranBefore("read"));
  });

  test("does not repeat a tool that must not run twice", async () => {
    const task = await ended("onceTool");

    expect(task.status.state).toBe("completed");
    expect(textOf(task)).toMatch(/^Result: Unknown/);
    expect(ranBefore("post")).toHaveLength(1);
    expect(ranSince("post")).toEqual([]);
  });
});

describe.each([
  {
    agent: "flights",
    where: "with a server of its own",
    asks: "remoteQuestion",
    works: "remoteWork",
  },
  { agent: "hotels", where: "of the same process", asks: "localQuestion", works: "localWork" },
] as const)("a sub-agent $where", ({ agent, asks, works }) => {
  test("gets the answer that its caller received", async () => {
    const task = await answer(asks, "Rome");

    expect(task.status.state).toBe("completed");
    expect(textOf(task)).toContain(`${agent} in Rome`);
  });

  test("finishes its work for the task that called it", async () => {
    const task = await ended(works);

    expect(task.status.state).toBe("completed");
    expect(textOf(task)).toContain(`${agent} reserved`);
    expect(ranSince(`${agent} reserve`)).toEqual(ranBefore(`${agent} reserve`));
  });

  test("was not called a second time", () => {
    expect(ranBefore(`${agent} search`)).toHaveLength(2);
    expect(ranSince(`${agent} search`)).toEqual([]);
  });
});

test("every task of the fixture has ended", async () => {
  const names = Object.keys(CASES) as CaseName[];
  const states = await Promise.all(
    names.map(async (name) => (await callerFor(name).get(facts.tasks[name].taskId)).status.state),
  );

  expect(states.filter((state) => !/^(completed|failed|canceled|rejected)$/.test(state))).toEqual(
    [],
  );
});

/** Whether a notification says that its task is completed. */
function isCompleted({ status }: Readonly<Record<string, unknown>>): boolean {
  return (status as { readonly state?: string } | undefined)?.state === "completed";
}
