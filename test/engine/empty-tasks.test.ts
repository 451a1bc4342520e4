import { cancelTask, createTask, recover } from "@convoke/engine";
import { createMemoryBackend } from "@convoke/engine/memory";
import type { Message } from "@convoke/protocol";
import { defineAgent } from "convoke";
import { describe, expect, test } from "vitest";
import { World } from "./a-world.ts";
import { CALLER, anEngine, tell } from "./an-engine.ts";

const echo = defineAgent({
  name: "Echo",
  description: "Repeats what it is told.",
  run: ({ text }) => `You said ${text}`,
});

const NOT_FOUND = { reason: "TaskNotFound" };

describe("a task without a message", () => {
  test("is submitted until its first message, which starts its first turn, also after a restart", async () => {
    const world = new World(({ text }) => `You said ${text}`);
    const given = { contextId: "talk", metadata: { topic: "birds" } };
    const { id } = await createTask(given, {
      engine: world.engine,
      agent: world.engine.agents.first,
      caller: CALLER,
    });

    const report = await world.restart();

    expect(report).toMatchObject({ waiting: 1, resumed: 0, ended: 0 });
    expect(await world.task(id)).toMatchObject({
      status: { state: "submitted" },
      contextId: "talk",
      metadata: { topic: "birds" },
    });
    await tell(world.engine, "hello", { taskId: id });
    expect(await world.settled(id)).toMatchObject({
      status: { state: "completed" },
      history: [{ role: "user", parts: [{ text: "hello" }] }],
      artifacts: [{ parts: [{ text: "You said hello" }] }],
    });
  });

  test("resumes its first turn after a crash like any other task", async () => {
    const runs: string[] = [];
    const world = new World(async ({ text, step, ask }) => {
      await step("note", () => void runs.push(text));
      return `Hello ${await ask("Who?")}`;
    });
    const { id } = await createTask(
      {},
      { engine: world.engine, agent: world.engine.agents.first, caller: CALLER },
    );
    await tell(world.engine, "hello", { taskId: id });
    await world.settled(id);

    await world.restart();
    await tell(world.engine, "Ann", { taskId: id });

    await world.hasEvent(id, "artifact-update");
    expect(await world.settled(id)).toMatchObject({
      status: { state: "completed" },
      artifacts: [{ parts: [{ text: "Hello Ann" }] }],
    });
    expect(runs).toEqual(["hello"]);
  });

  test("has one first message, even if two arrive together", async () => {
    const engine = anEngine(echo);
    const { id: taskId } = await createTask(
      {},
      { engine, agent: engine.agents.first, caller: CALLER },
    );

    const sent = await Promise.allSettled(["a", "b"].map((text) => tell(engine, text, { taskId })));

    expect(sent.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    const { task } = await engine.tasks.find(taskId, CALLER);
    expect(task.history?.map((one: Message) => one.parts)).toEqual([[{ kind: "text", text: "a" }]]);
  });

  test("belongs to its owner", async () => {
    const engine = anEngine(echo);
    const { id } = await createTask({}, { engine, agent: engine.agents.first, caller: CALLER });
    const bob = { owner: "bob" };

    await expect(engine.tasks.find(id, bob)).rejects.toMatchObject(NOT_FOUND);
    await expect(cancelTask(engine, id, bob)).rejects.toMatchObject(NOT_FOUND);
    expect((await cancelTask(engine, id, CALLER)).status.state).toBe("canceled");
  });

  test("is canceled with a reason if no message arrives in time, even while the server is down", async () => {
    const backend = createMemoryBackend();
    let now = 1_000_000;
    const options = { emptyTaskMs: 1000, now: () => now };
    const first = anEngine(echo, backend, options);
    const { id } = await createTask(
      {},
      { engine: first, agent: first.agents.first, caller: CALLER },
    );
    const { id: used } = await createTask(
      {},
      { engine: first, agent: first.agents.first, caller: CALLER },
    );
    await tell(first, "hello", { taskId: used });
    first.close();
    now += 1000;

    const second = anEngine(echo, backend, options);
    await recover(second);

    const { task } = await second.tasks.find(id, CALLER);
    expect(task.status).toMatchObject({
      state: "canceled",
      message: {
        parts: [{ text: "The task expired, because it received no message." }],
        metadata: { reason: "no-message" },
      },
    });
    await expect(tell(second, "late", { taskId: id })).rejects.toThrow(/accepts no more messages/);
    expect((await second.tasks.find(used, CALLER)).task.status.state).not.toBe("canceled");
  });
});
