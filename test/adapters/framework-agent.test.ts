import type { StatusUpdateEvent } from "@convoke/protocol";
import { textOf, toolActivity } from "@convoke/protocol";
import { expect, test } from "vitest";
import {
  type Framework,
  type FrameworkAnswer,
  type FrameworkInput,
  type FrameworkRun,
  type Piece,
  frameworkAgent,
  runFramework,
} from "../../apps/convoke/src/adapters/framework-agent.ts";
import { World } from "../engine/a-world.ts";
import { tell } from "../engine/an-engine.ts";

const CALL = { toolCallId: "c1", toolName: "refund" };

/** A framework that shows some pieces, asks for an approval and for a name, and greets. */
class AskingFramework implements Framework {
  readonly begun: FrameworkInput[] = [];
  readonly resumed: (readonly [unknown, readonly FrameworkAnswer[]])[] = [];

  async *begin(input: FrameworkInput): FrameworkRun {
    this.begun.push(input);
    yield* ["One ", "moment. "];
    yield { kind: "tool-call", ...CALL, input: { order: "1" } } as Piece;
    return {
      kind: "asks",
      questions: [
        { kind: "approval", id: "c1", toolName: "refund", arguments: { order: "1" } },
        { kind: "input", id: "q1", prompt: "Your name?" },
      ],
      state: { saved: true },
    };
  }

  async *resume(state: unknown, answers: readonly FrameworkAnswer[]) {
    this.resumed.push([state, answers]);
    yield { kind: "tool-result", ...CALL, output: "done", isError: false } as Piece;
    yield "Hello.";
    return { kind: "done" } as const;
  }
}

test("a run that asks continues after a restart, and nothing is done twice", async () => {
  const framework = new AskingFramework();
  const world = new World((turn) => runFramework(framework, turn));
  const { live } = await tell(world.engine, "go");
  const taskId = live.task.id;
  expect((await world.settled(taskId)).status.state).toBe("input-required");

  await world.restart();
  await tell(world.engine, "approve", { taskId });
  await expect
    .poll(async () => JSON.stringify((await world.task(taskId)).status))
    .toContain("Your name?");
  await world.restart();
  await tell(world.engine, "Ann", { taskId });

  await expect.poll(async () => (await world.task(taskId)).status.state).toBe("completed");
  expect(textOf(await world.task(taskId))).toBe("One moment. Hello.");
  expect(framework.begun).toHaveLength(1);
  expect(framework.resumed).toEqual([
    [
      { saved: true },
      [
        { kind: "approval", id: "c1", isApproved: true },
        { kind: "input", id: "q1", text: "Ann" },
      ],
    ],
  ]);
});

test("the framework gets the conversation, and a thread that no other caller has", async () => {
  const framework = new AskingFramework();
  framework.begin = async function* (input) {
    this.begun.push(input);
    yield `Answer to ${input.text}.`;
    return { kind: "done" };
  };
  const world = new World((turn) => runFramework(framework, turn));
  const first = await tell(world.engine, "one");
  await world.settled(first.live.task.id);
  const { contextId } = first.live.task;
  const second = await tell(world.engine, "two", { contextId });
  await world.settled(second.live.task.id);

  expect(framework.begun[1]).toEqual({
    text: "two",
    history: [
      { role: "user", text: "one" },
      { role: "assistant", text: "Answer to one." },
    ],
    threadId: JSON.stringify(["ann", contextId]),
    owner: "ann",
  });
});

test("tool calls and their results are in the log, where the extension tool-activity finds them", async () => {
  const world = new World((turn) => runFramework(new AskingFramework(), turn));
  const { live } = await tell(world.engine, "go");
  const taskId = live.task.id;
  await world.settled(taskId);
  await tell(world.engine, "approve", { taskId });
  await expect
    .poll(async () => JSON.stringify((await world.task(taskId)).status))
    .toContain("Your name?");
  await tell(world.engine, "Ann", { taskId });
  await expect.poll(async () => (await world.task(taskId)).status.state).toBe("completed");

  const shown = (await world.events(taskId)).flatMap(
    (event): StatusUpdateEvent | [] => toolActivity(event, "m") ?? [],
  );

  const data = { toolUseId: "c1", name: "refund" };
  expect(shown.map(({ status }) => status.message?.parts)).toMatchObject([
    [{ data: { ...data, input: { order: "1" } } }],
    [{ data: { ...data, result: "done" } }],
  ]);
  const { info } = frameworkAgent(new AskingFramework(), { name: "a", description: "Asks." });
  expect(info.extensions?.map(({ uri }) => uri.split("/").at(-2))).toEqual([
    "tool-activity",
    "approvals",
  ]);
});

test("a run that a crash interrupts fails, unless it may start again", async () => {
  for (const restart of [false, true]) {
    const framework = new AskingFramework();
    framework.begin = async function* (input) {
      this.begun.push(input);
      if (this.begun.length === 1) await new Promise(() => undefined);
      yield "Done.";
      return { kind: "done" };
    };
    const world = new World((turn) => runFramework(framework, turn, restart));
    const { live } = await tell(world.engine, "go");
    await expect.poll(() => framework.begun.length).toBe(1);

    await world.restart();

    const { status } = await world.settled(live.task.id);
    expect(status.state).toBe(restart ? "completed" : "failed");
    expect(framework.begun).toHaveLength(restart ? 2 : 1);
  }
});
