import { type Task, isTerminal } from "@convoke/protocol";
import { expect } from "vitest";
import { LoopWorld } from "../loop/a-loop-world.ts";
import { playing } from "../loop/a-story.ts";
import { told } from "../loop/scripts.ts";
import { verifies } from "../verifies.ts";
import { ACTIVE, declaring, resultPart, usesOf } from "./a-caller.ts";

/** Two parallel calls, and one after them. */
const STORY = [
  { text: "I look. ", calls: ["look", "look"], errors: 0 },
  { text: "", calls: ["look"], errors: 0 },
];
const LOOK = { name: "look", inputSchema: { properties: { n: { type: "integer" } } } };

interface Played {
  readonly state: string;
  /** What the model received at the end. */
  readonly transcript: readonly string[];
  /** How often the caller was asked for each call, by the messages that asked. */
  readonly uses: readonly string[];
  readonly events: number;
}

verifies(
  ["R58", "R113", "G3"],
  "a task whose process dies between any two events asks, accepts results and ends the same",
  async () => {
    const whole = await play();
    expect(whole.state).toBe("completed");
    expect(whole.uses).toEqual(["call-0-0", "call-0-1", "call-0-1", "call-1-0"]);

    for (let events = 1; events <= whole.events; events++) {
      const { events: _, ...cut } = await play(events);
      const { events: __, ...expected } = whole;
      expect(cut, `cut after ${events}`).toEqual(expected);
    }
  },
  60_000,
);

/**
 * Lets the model call tools, and answers one call at a time, with a crash after this many events.
 */
async function play(dieAfter?: number): Promise<Played> {
  const model = playing(STORY);
  const world = new LoopWorld({ model }, { extensions: ACTIVE });
  const taskId = await world.tell("go", declaring(LOOK));
  if (dieAfter !== undefined) world.dieAfter(dieAfter);
  const asked = new Map<string, readonly string[]>();
  let task: Task;
  do {
    await new Promise((resolve) => setTimeout(resolve, 1));
    task = await next(world, taskId);
    const uses = usesOf(task);
    const [first] = uses;
    if (first === undefined || isTerminal(task.status.state)) continue;
    const messageId = task.status.message!.messageId;
    asked.set(
      messageId,
      uses.map(({ toolUseId }) => toolUseId),
    );
    await answer(world, taskId, { messageId, toolUseId: first.toolUseId, input: first.input });
  } while (!isTerminal(task.status.state));
  const longest = model.requests.toSorted((a, b) => b.transcript.length - a.transcript.length)[0]!;
  const events = (await world.events(taskId)).length - 2;
  const uses = [...asked.values()].flat();
  return { state: task.status.state, transcript: told(longest.transcript), uses, events };
}

/** The task when it has ended or asks; a dead process is followed by another. */
async function next(world: LoopWorld, taskId: string): Promise<Task> {
  const state = async (): Promise<string> =>
    world.isDead ? "dead" : ((await world.backend.tasks.get(taskId))?.state ?? "working");
  await expect.poll(state, { timeout: 20_000, interval: 1 }).not.toMatch(/working|submitted/);
  if (world.isDead) {
    await world.atRest();
    await world.restart();
  }
  return (await world.engine.tasks.find(taskId, { owner: "ann" })).task;
}

async function answer(
  world: LoopWorld,
  taskId: string,
  use: { readonly messageId: string; readonly toolUseId: string; readonly input: unknown },
): Promise<void> {
  // The same message again, in case this process dies while handling it.
  const messageId = `answer-${use.messageId}`;
  const part = resultPart(use.toolUseId, { result: { saw: use.input } });
  void world.tell([part], { taskId, messageId }).catch(() => undefined);
  const hasArrived = async (): Promise<boolean> =>
    JSON.stringify(await world.notes(taskId, "internal:message")).includes(messageId);
  await expect.poll(async () => world.isDead || (await hasArrived()), { interval: 1 }).toBe(true);
}
