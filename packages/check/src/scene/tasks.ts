import { setTimeout as sleep } from "node:timers/promises";
import { isInterrupted, isTerminal } from "@convoke/protocol";
import { type Exchange, Failed, Skipped } from "../verdict.ts";
import type { Served } from "../wire/call.ts";
import type { Scene } from "./scene.ts";
import { type SeenResult, type SeenTask, seenResult, seenTask } from "./seen.ts";

/** Something that was seen, and how. */
export interface Witnessed<Value> {
  readonly value: Value;
  readonly exchange: Exchange;
}

/** Sends a text and gives what came back, which must be a task or a message. */
async function send(
  scene: Scene,
  ...words: Parameters<Scene["requests"]["send"]>
): Promise<Witnessed<SeenResult>> {
  const params = scene.requests.send(...words);
  return resultIn(await scene.served(scene.call("sendMessage", params), "a task or a message"));
}

function resultIn({ result, exchange }: Served): Witnessed<SeenResult> {
  const value = seenResult(result);
  if (value === undefined) throw new Failed("either a task or a message", exchange);
  return { value, exchange };
}

/** The same where only a task will do. */
export async function sendForTask(
  scene: Scene,
  ...words: Parameters<Scene["requests"]["send"]>
): Promise<Witnessed<SeenTask>> {
  const { value, exchange } = await send(scene, ...words);
  if (value.kind === "task" && value.taskId !== "") {
    if (value.state === undefined || !isTerminal(value.state)) {
      scene.stage.leftovers.push(value.taskId);
    }
    return { value, exchange };
  }
  throw new Skipped(
    "the agent answers with a message and no task: --message <text> that begins one",
  );
}

const FIRST = "an answer to the ordinary message";

/** What the ordinary message is answered with. It is sent once. */
export function ordinary(scene: Scene): Promise<Witnessed<SeenResult>> {
  const { once, settings } = scene.stage;
  return once.get("a task or a message", async () => {
    const answer = await once.get(FIRST, () => {
      const params = scene.requests.send(settings.message);
      return scene.served(scene.call("sendMessage", params), "a task or a message");
    });
    return resultIn(answer);
  });
}

/** Keeps the answer that came when the interface was tried first, whatever it is. */
export async function keepOrdinary(scene: Scene, answer: Served): Promise<void> {
  await scene.stage.once.get(FIRST, async () => answer);
}

/** A task that has ended. */
export function finished(scene: Scene): Promise<Witnessed<SeenTask>> {
  return scene.stage.once.get("a task that has ended", async () => {
    const { value, exchange } = await ordinary(scene);
    if (value.kind === "message") {
      throw new Skipped(
        "the agent answers with a message and no task: --message <text> that begins one",
      );
    }
    if (value.state !== undefined && isTerminal(value.state)) return { value, exchange };
    throw new Skipped("no task has ended: --message <text> that is answered at once");
  });
}

/** A task that waits for its caller; each call gives one of its own. */
export async function asking(scene: Scene): Promise<Witnessed<SeenTask>> {
  const { once, settings } = scene.stage;
  const text = await once.get("a task that asks back", async () => {
    if (settings.ask !== undefined) return settings.ask;
    const { value } = await ordinary(scene);
    if (value.kind === "task" && value.state === "input-required") return settings.message;
    throw new Skipped("no message makes the agent ask back: --ask <text>");
  });
  const asked = await sendForTask(scene, text);
  if (asked.value.state === "input-required") return asked;
  throw new Skipped(`--ask did not make the agent ask back: the task is ${asked.value.state}`);
}

/** The text that keeps the agent busy. */
export function slowText(scene: Scene): Promise<string> {
  const { once, settings } = scene.stage;
  return once.get("a task that is being worked on", async () => {
    if (settings.slow !== undefined) return settings.slow;
    if (await keepsBusy(scene, settings.message)) return settings.message;
    throw new Skipped("no message keeps the agent busy: --slow <text>");
  });
}

/** Whether an agent is still at it a while after it was sent something. */
async function keepsBusy(scene: Scene, text: string): Promise<boolean> {
  const { value } = await send(scene, text, {}, { blocking: false });
  if (value.kind !== "task" || isAtRest(value)) return false;
  await sleep(A_WHILE_MS, undefined, { signal: scene.signal });
  const { state } = (await getTask(scene, value.taskId)).value;
  return state === "submitted" || state === "working";
}

/** Long enough to tell a slow agent from one that is done before the next question comes. */
const A_WHILE_MS = 1000;

/** A task that is being worked on; each call gives one of its own. */
export async function working(scene: Scene): Promise<Witnessed<SeenTask>> {
  const text = await slowText(scene);
  const begun = await sendForTask(scene, text, {}, { blocking: false });
  if (!isAtRest(begun.value)) return begun;
  throw new Skipped("the agent was done at once: --slow <text> that takes a few seconds");
}

/** Whether nothing happens to a task unless its caller does something. */
export function isAtRest({ state }: SeenTask): boolean {
  return state !== undefined && (isTerminal(state) || isInterrupted(state));
}

/** A task as it is told now. */
export async function getTask(
  scene: Scene,
  taskId: string,
  historyLength?: number,
): Promise<Witnessed<SeenTask>> {
  const { result, exchange } = await scene.served(
    scene.call("getTask", scene.requests.get(taskId, historyLength)),
    "the task",
  );
  const value = seenTask(result);
  if (value?.taskId === taskId) return { value, exchange };
  throw new Failed(`the task ${taskId}`, exchange);
}
