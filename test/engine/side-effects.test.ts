import {
  type AgentDefinition,
  type FunctionTurn,
  complete,
  defineAgent,
  reject,
  reply,
  status,
} from "convoke";
import { createMemoryBackend } from "@convoke/engine/memory";
import { type Message, type Task, textOf, userMessage } from "@convoke/protocol";
import {
  type CommitResult,
  type CommitStep,
  type Engine,
  isSettled,
  sendMessage,
  sendStreamingMessage,
} from "@convoke/engine";
import { describe, expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import { Reader } from "./a-reader.ts";
import { World, type WorldOptions } from "./a-world.ts";
import { CALLER, anEngine, tell } from "./an-engine.ts";
import { type WrappedBackend, wrapBackend } from "./wrapped-backend.ts";

const CALL = { caller: CALLER, version: "1.0", trace: undefined, lastEventId: undefined } as const;

type Run = AgentDefinition["run"];

/** A server of one function, whose commits the test can see and hold back. */
function aWorld(run: Run, options: WorldOptions = { sideEffects: false }) {
  const backend = wrapBackend(createMemoryBackend());
  return { backend, world: new World(run, { backend, ...options }) };
}

function send(engine: Engine, message: Message, blocking = true): Promise<Task> {
  const call = { engine, agent: engine.agents.first, ...CALL };
  return sendMessage({ message, blocking }, call) as Promise<Task>;
}

/** Lets everything run that is ready to run. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

const RUNS: Readonly<Record<string, Run>> = {
  "returns its answer": ({ text }) => `${text}!`,
  "streams its answer": async function* () {
    for (let n = 0; n < 100; n++) yield `${n} `;
  },
  "reports its progress": async function* () {
    yield status("reading");
    await Promise.resolve();
    yield "done";
  },
  "says nothing": () => undefined,
  "completes with a text": () => complete("done"),
  "rejects the task": () => reject("not today"),
  "throws an error": () => {
    throw new TypeError("secret");
  },
  "asks by ending its turn": async function* ({ task }) {
    const { id: taskId, contextId } = task;
    const asked = { state: "input-required" } as const;
    yield { kind: "status-update", taskId, contextId, status: asked, final: true };
  },
  asks: async ({ ask }) => `${await ask("Which one?")}`,
  sleeps: async ({ sleep }) => sleep(3_600_000),
};

describe("a function without side effects that ends or waits in the turn in which it began", () => {
  test.each(Object.entries(RUNS))("%s: its task is stored in one step", async (_, run) => {
    const { world, backend } = aWorld(run);
    const { live } = await tell(world.engine, "go");
    await settle();

    expect(backend.steps.map(({ create }) => create !== undefined)).toEqual([true]);
    expect(await storedLog(world, live.task.id)).toEqual(await logWithSideEffects(run));
    world.engine.close();
  });

  verifies("G14", "has as many events as any other", async () => {
    const lengths = [false, true].map(async (sideEffects) => {
      const run = RUNS["streams its answer"]!;
      const agent = defineAgent({ name: "A", description: "Streams.", run, sideEffects });
      const engine = anEngine(agent, undefined, { limits: { events: 10 } });
      const { live } = await tell(engine, "go");
      await live.until(isSettled);
      expect(live.task.status.message?.metadata).toMatchObject({ limit: "events" });
      return live.writer.head;
    });
    const [without, withSideEffects] = await Promise.all(lengths);

    expect(without).toBe(withSideEffects);
  });

  test("replies without a task, in one step", async () => {
    const { world, backend } = aWorld(() => reply("hello"), { sideEffects: false, replies: true });

    const answer = await send(world.engine, userMessage("m1", "go"));

    expect(answer).toMatchObject({ kind: "message", parts: [{ text: "hello" }] });
    expect(backend.steps).toHaveLength(1);
  });

  test("is streamed like any other", async () => {
    const { world } = aWorld(RUNS["streams its answer"]!);
    const call = { engine: world.engine, agent: world.engine.agents.first, ...CALL };
    const request = { message: userMessage("m1", "go"), blocking: true };

    const reader = new Reader(await sendStreamingMessage(request, call));
    await reader.ended;

    expect(reader.frames.map(({ id }) => id)).toEqual(reader.frames.map((_, place) => place + 1));
    expect(reader.frames[0]?.event).toMatchObject({ kind: "task", status: { state: "submitted" } });
    expect(reader.fold().status.state).toBe("completed");
    expect(textOf(reader.fold())).toMatch(/^0 1 2 .* 99 $/);
  });

  test("answers a caller that does not wait as soon as the task is stored", async () => {
    const { world } = aWorld(() => "at once");

    const { id } = await send(world.engine, userMessage("m1", "go"), false);

    expect(textOf(await world.settled(id))).toBe("at once");
  });
});

describe("before the step of a function without side effects is stored", () => {
  verifies("G1", "no caller sees its task or its answer", async () => {
    const runs: string[] = [];
    const { world, backend } = aWorld(({ text }) => void runs.push(text));
    backend.hold();
    let answer: Task | undefined;
    const sent = send(world.engine, userMessage("m1", "go")).then((task) => (answer = task));
    await settle();

    expect(runs).toEqual(["go"]);
    expect(answer).toBeUndefined();
    const { taskId } = backend.steps[0]!;
    await expect(world.task(taskId)).rejects.toMatchObject({ reason: "TaskNotFound" });

    backend.release();
    await expect(sent).resolves.toMatchObject({ id: taskId, status: { state: "completed" } });
  });

  verifies(["G3", "G6"], "the body of its first durable step does not run", async () => {
    const bodies: string[] = [];
    const { world, backend } = aWorld(async ({ step }) => {
      await step("pay", () => void bodies.push("pay"));
      return "paid";
    });
    backend.hold();
    const sent = send(world.engine, userMessage("m1", "go"));
    await settle();
    const before = [...bodies];
    backend.release();

    expect(textOf(await sent)).toBe("paid");
    expect({ before, bodies }).toEqual({ before: [], bodies: ["pay"] });
    expect(backend.steps[0]?.events.at(-1)).toContain("internal:step-start");
  });

  verifies("G3", "`durable` waits, also if nothing was written", async () => {
    let isDurable = false;
    const { world, backend } = aWorld(async ({ durable }) => {
      await durable();
      isDurable = true;
    });
    backend.hold();
    const sent = send(world.engine, userMessage("m1", "go"));
    await settle();
    const before = isDurable;
    backend.release();
    await sent;

    expect([before, isDurable]).toEqual([false, true]);
  });

  verifies(["G3", "G6"], "a crash leaves nothing, and the same message runs it again", async () => {
    let runs = 0;
    const backend = wrapBackend(createMemoryBackend());
    let isDying = true;
    const commit = (step: CommitStep): Promise<CommitResult> =>
      isDying ? new Promise(() => undefined) : backend.commit(step);
    const world = new World(() => `answer ${(runs += 1)}`, {
      sideEffects: false,
      backend: { ...backend, commit },
    });
    void send(world.engine, userMessage("m1", "go"));
    await settle();
    isDying = false;

    await world.restart();
    const first = await send(world.engine, userMessage("m1", "go"));
    await world.restart();
    const second = await send(world.engine, userMessage("m1", "go"));

    expect(textOf(first)).toBe("answer 2");
    expect(second).toEqual(first);
  });
});

describe("a function without side effects that goes on after the turn in which it began", () => {
  verifies("G3", "has a stored task, like any other", async () => {
    const gate = Promise.withResolvers<void>();
    const { world, backend } = aWorld(async function* () {
      yield "first ";
      await gate.promise;
      yield "second";
    });

    const { live } = await tell(world.engine, "go");
    const { state } = live.task.status;
    gate.resolve();
    await world.settled(live.task.id);

    expect(state).toBe("working");
    expect(textOf(await world.task(live.task.id))).toBe("first second");
    expect(backend.steps.length).toBeGreaterThan(1);
  });

  verifies("G3", "and is interrupted by a crash fails its task", async () => {
    const { world } = aWorld(async function* () {
      yield "first ";
      await new Promise(() => undefined);
    });
    const { live } = await tell(world.engine, "go");
    await live.until(({ task }) => textOf(task) === "first ");

    await world.restart();

    expect((await world.settled(live.task.id)).status).toMatchObject({
      state: "failed",
      message: { metadata: { reason: "interrupted" } },
    });
  });
});

describe("a task that is not stored, of a function without side effects", () => {
  verifies("G6", "because its message came twice, leaves the first one's answer", async () => {
    let runs = 0;
    const { world, backend } = aWorld(() => `answer ${(runs += 1)}`);
    const message = userMessage("m1", "go");

    const copies = Array.from({ length: 10 }, () => send(world.engine, message));
    const [first, ...others] = await Promise.all(copies);

    expect(others).toEqual(others.map(() => first));
    expect(runs).toBe(10);
    expect(await backend.tasks.newest({ limit: 20 })).toHaveLength(1);
    expect(world.engine.openTasks.total).toBe(0);
  });

  test("because the storage fails, is an error for its caller and no open task", async () => {
    const { world, backend } = aWorld(RUNS["asks"]!);
    backend.failNext(2);

    await expect(send(world.engine, userMessage("m1", "go"))).rejects.toThrow("disk I/O error");
    const again = await send(world.engine, userMessage("m1", "go"));

    expect(again.status.state).toBe("input-required");
    expect(world.engine.openTasks.total).toBe(1);
    expect(unstoredTasks(world)).toBe(0);
  });

  test("stops the function, and what it still writes is dropped", async () => {
    let stopped: FunctionTurn | undefined;
    const { world, backend } = aWorld(async function* (turn) {
      await new Promise((resolve) => setImmediate(resolve));
      yield "late";
      stopped = turn;
      await turn.durable();
    });
    backend.failNext(2);

    await expect(send(world.engine, userMessage("m1", "go"))).rejects.toThrow("disk I/O error");
    await settle();

    expect(stopped?.signal.aborted).toBe(true);
    expect(await storedTasks(backend)).toBe(0);
    expect(unstoredTasks(world)).toBe(0);
  });
});

function unstoredTasks({ engine }: World): number {
  return Array.from(engine.tasks.values()).filter(({ isStored }) => !isStored).length;
}

async function storedTasks(backend: WrappedBackend): Promise<number> {
  return (await backend.tasks.newest({ limit: 20 })).length;
}

/** The log without what is new in each task: its ids and times. */
async function storedLog(world: World, taskId: string): Promise<readonly string[]> {
  const events = await world.backend.read(taskId, 0, 10_000);
  const { contextId } = (await world.backend.tasks.get(taskId))!;
  return events.map(({ json }) =>
    json
      .replaceAll(taskId, "<task>")
      .replaceAll(contextId, "<context>")
      .replaceAll(/"messageId":"[0-9a-f-]{36}"/g, '"messageId":"<message>"')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>")
      .replaceAll(/("errorId":"|under error )\w+/g, "$1<error>"),
  );
}

async function logWithSideEffects(run: Run): Promise<readonly string[]> {
  const { world, backend } = aWorld(run, {});
  const { live } = await tell(world.engine, "go");
  await settle();
  expect(backend.steps).toHaveLength(2);
  const log = await storedLog(world, live.task.id);
  world.engine.close();
  return log;
}
