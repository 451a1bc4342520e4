import { createMemoryBackend } from "@convoke/engine/memory";
import {
  acceptMessage,
  cancelTaskOperation,
  pauseTask,
  recover,
  resumePausedTask,
} from "@convoke/engine";
import { ServerStopping, textOf, userMessage } from "@convoke/protocol";
import { defineAgent } from "@convoke/runtime";
import { expect, test } from "vitest";
import { CALLER, anEngine, tell } from "./an-engine.ts";

/** Works until its second step is released; counts how often its first step ran. */
function aWorker() {
  const world = { firstSteps: 0, reasons: [] as unknown[], isReleased: false };
  const agent = defineAgent({
    name: "worker",
    description: "Works.",
    async *run({ step, signal }) {
      yield await step("first", () => `first ${(world.firstSteps += 1)}, `);
      signal.addEventListener("abort", () => world.reasons.push(signal.reason));
      while (!world.isReleased) await new Promise((resolve) => setTimeout(resolve, 5));
      yield "second";
    },
  });
  return { agent, world };
}

test("a paused task is aborted, does not end, and resumes from its journal", async () => {
  const { agent, world } = aWorker();
  const engine = anEngine(agent);
  const { live } = await tell(engine, "go");
  const { taskId } = live.writer;
  await live.until(({ task }) => textOf(task) !== "");

  pauseTask(engine, taskId);

  expect(world.reasons).toEqual([expect.any(ServerStopping)]);
  world.isReleased = true;
  await expect.poll(() => engine.running, { timeout: 20_000 }).toBe(0);
  await new Promise((resolve) => setTimeout(resolve, 30));
  const paused = await engine.tasks.find(taskId, CALLER);
  expect(paused.task.status.state).toBe("working");
  expect(textOf(paused.task)).toBe("first 1, ");
  expect(engine.running).toBe(0);

  await resumePausedTask(engine, taskId, CALLER);

  await expect
    .poll(async () => (await engine.tasks.find(taskId, CALLER)).task.status.state)
    .toBe("completed");
  expect(textOf((await engine.tasks.find(taskId, CALLER)).task)).toBe("first 1, second");
  expect(world.firstSteps).toBe(1);
});

test("a task that is paused right at its start loses none of its earlier output", async () => {
  const { agent, world } = aWorker();
  const engine = anEngine(agent);
  const { live } = await tell(engine, "go");
  const { taskId } = live.writer;
  world.isReleased = true;

  pauseTask(engine, taskId);
  await Promise.all([
    resumePausedTask(engine, taskId, CALLER),
    resumePausedTask(engine, taskId, CALLER),
  ]);

  await expect
    .poll(async () => (await engine.tasks.find(taskId, CALLER)).task.status.state)
    .toMatch(/completed|failed/);
});

test("an engine that does not resume on start leaves tasks paused, and they can be canceled", async () => {
  const { agent } = aWorker();
  const backend = createMemoryBackend();
  const first = anEngine(agent, backend);
  const { live } = await tell(first, "go");
  const { taskId } = live.writer;
  await live.until(({ task }) => textOf(task) !== "");
  first.close();
  const next = anEngine(agent, backend);

  expect(await recover(next, { resume: false })).toMatchObject({
    resumed: 0,
    ended: 0,
    waiting: 1,
  });

  expect(next.running).toBe(0);
  const call = {
    engine: next,
    agent: next.agents.first,
    caller: CALLER,
    version: "1.0",
    trace: undefined,
  } as const;
  const canceled = await cancelTaskOperation({ taskId }, { ...call, lastEventId: undefined });
  expect(canceled.status.state).toBe("canceled");
});

test("code in this process chooses the id of a task, and the conversation keeps its order", async () => {
  const agent = defineAgent({
    name: "Listener",
    description: "Counts what was said before.",
    run: ({ conversation }) => `${conversation.length}`,
  });
  const engine = anEngine(agent);
  const answers: string[] = [];
  for (const newTaskId of ["c", "b", "a"]) {
    const message = { ...userMessage(newTaskId, "hi"), contextId: "talk" };
    const { live } = await acceptMessage(engine, { message, caller: CALLER, newTaskId });
    await live.until(({ task }) => task.status.state === "completed");
    expect(live.task.id).toBe(newTaskId);
    answers.push(textOf(live.task));
  }

  expect(answers).toEqual(["0", "2", "4"]);
});
