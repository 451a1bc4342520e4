import { randomUUID } from "node:crypto";
import { isInterrupted, isTerminal } from "@convoke/protocol";
import { sleep } from "@convoke/protocol/internal";
import type { ResultResponse } from "../wire/client.ts";
import { withValueAt } from "../wire/json.ts";
import { type Exchange, Failed, Skipped } from "../wire/exchange.ts";
import {
  type ObservedEvent,
  type ObservedResult,
  type ObservedTask,
  type RecordedStream,
  parseResult,
  parseTask,
} from "./observed.ts";
import type { Scene } from "./scene.ts";

/** A task id that no server has. */
export const UNKNOWN_TASK = "convoke-check-no-such-task";

/** A webhook that accepts requests and does nothing. */
export const HOOK = { id: "convoke-check", url: "https://example.com/convoke-check" };

/** What a push config gives its notifications to authenticate themselves. */
export const HOOK_SECRETS = {
  token: "convoke-check-token",
  authentication: { schemes: ["Bearer"], credentials: "convoke-check-credentials" },
};

/** A value and the exchange that it came from. */
export interface Observed<Value> {
  readonly value: Value;
  readonly exchange: Exchange;
}

type SendArguments = Parameters<Scene["requests"]["send"]>;

/** Sends a text and expects a task. */
export async function sendForTask(
  scene: Scene,
  ...send: SendArguments
): Promise<Observed<ObservedTask>> {
  const { value, exchange } = await sendText(scene, ...send);
  if (value.kind !== "task" || value.taskId === "") throw new Skipped(NO_TASK);
  if (value.state === undefined || !isTerminal(value.state)) {
    scene.stage.unfinishedTasks.push(value.taskId);
  }
  return { value, exchange };
}

const NO_TASK =
  "the agent answers with a message; choose a text that starts a task (option: message)";

async function sendText(scene: Scene, ...send: SendArguments): Promise<Observed<ObservedResult>> {
  const params = scene.requests.send(...send);
  const response = scene.call("sendMessage", params);
  return observeResult(await scene.expectResult(response, "a task or a message"));
}

function observeResult({ result, exchange }: ResultResponse): Observed<ObservedResult> {
  const value = parseResult(result);
  if (value === undefined) throw new Failed("either a task or a message", exchange);
  return { value, exchange };
}

const ORDINARY_RESPONSE = "a response to the ordinary message";

/** The result of the ordinary message, which is sent once. */
export function ordinaryResult(scene: Scene): Promise<Observed<ObservedResult>> {
  const { shared, settings } = scene.stage;
  return shared.get("a task or a message", async () => {
    const response = await shared.get(ORDINARY_RESPONSE, () => {
      const params = scene.requests.send(settings.message);
      return scene.expectResult(scene.call("sendMessage", params), "a task or a message");
    });
    return observeResult(response);
  });
}

/** Keeps the response that the gate probe received, so that the message is not sent again. */
export async function keepOrdinaryResult(scene: Scene, response: ResultResponse): Promise<void> {
  await scene.stage.shared.get(ORDINARY_RESPONSE, async () => response);
}

/** A task in a terminal state. */
export function finishedTask(scene: Scene): Promise<Observed<ObservedTask>> {
  return scene.stage.shared.get("a finished task", async () => {
    const { value, exchange } = await ordinaryResult(scene);
    if (value.kind === "message") throw new Skipped(NO_TASK);
    if (value.state !== undefined && isTerminal(value.state)) return { value, exchange };
    throw new Skipped(
      "the ordinary task does not finish; choose a text that is answered at once (option: message)",
    );
  });
}

/** A task that waits for input. Each call starts a new one. */
export async function askingTask(scene: Scene): Promise<Observed<ObservedTask>> {
  const asked = await sendForTask(scene, await askingText(scene));
  if (asked.value.state === "input-required") return asked;
  throw new Skipped(
    `the message did not make the agent ask a question: the task is ${asked.value.state} (option: ask)`,
  );
}

/** A text that makes the agent ask a question. */
export async function askingText(scene: Scene): Promise<string> {
  const { messages } = scene.stage;
  if (messages.ask === undefined) await tryMessages(scene);
  if (messages.ask) return messages.ask;
  throw new Skipped("no message makes the agent ask a question (option: ask)");
}

/** A text that keeps the agent busy. */
export async function slowText(scene: Scene): Promise<string> {
  const { messages } = scene.stage;
  if (messages.slow === undefined) await tryMessages(scene);
  if (messages.slow) return messages.slow;
  throw new Skipped("no message keeps the agent busy (option: slow)");
}

/** Long enough to tell a slow agent from one that finishes before the next request arrives. */
const BUSY_MS = 1000;

/** Of a card with many examples, only the first are tried. */
const MAX_EXAMPLES = 10;

/** Sends the ordinary message and the examples of the card, to see what the agent does. */
async function tryMessages(scene: Scene): Promise<void> {
  const { messages } = scene.stage;
  // Even if a message fails, none is tried twice.
  const found = { ...messages };
  messages.slow ??= "";
  messages.ask ??= "";
  for (const text of [scene.settings.message, ...scene.card.examples.slice(0, MAX_EXAMPLES)]) {
    if (found.slow !== undefined && found.ask !== undefined) break;
    const state = await stateAfter(scene, text);
    if (state === "input-required") found.ask ??= text;
    if (state === "submitted" || state === "working") found.slow ??= text;
  }
  Object.assign(messages, found);
}

/** The state of a new task after a second; `undefined` if the text starts none. */
async function stateAfter(scene: Scene, text: string): Promise<ObservedTask["state"]> {
  const params = scene.requests.send(text, {}, { blocking: false });
  const response = await scene.call("sendMessage", params);
  const started = response.kind === "result" ? parseResult(response.result) : undefined;
  if (started?.kind !== "task" || started.taskId === "") return undefined;
  if (isAtRest(started)) return started.state;
  scene.stage.unfinishedTasks.push(started.taskId);
  await sleep(BUSY_MS, scene.signal);
  return (await getTask(scene, started.taskId)).value.state;
}

/** A task in progress. Each call starts a new one. */
export async function workingTask(scene: Scene): Promise<Observed<ObservedTask>> {
  const text = await slowText(scene);
  const started = await sendForTask(scene, text, {}, { blocking: false });
  if (!isAtRest(started.value)) return started;
  throw new Skipped(
    "the agent finished at once; choose a text that takes a few seconds (option: slow)",
  );
}

/** Whether a task only changes again if its caller acts. */
export function isAtRest({ state }: ObservedTask): boolean {
  return state !== undefined && (isTerminal(state) || isInterrupted(state));
}

/** The answer to a question of the agent. */
export const ANSWER = "convoke check answers";

/** A task with at least two messages, created once. */
export function taskWithHistory(scene: Scene): Promise<ObservedTask> {
  return scene.stage.shared.get("a task with a history", async () => {
    const { value } = await askingTask(scene);
    const { taskId, contextId } = value;
    await sendForTask(scene, ANSWER, { taskId, contextId });
    return value;
  });
}

/** The current snapshot of a task. */
export async function getTask(
  scene: Scene,
  taskId: string,
  historyLength?: number,
  options: Parameters<Scene["call"]>[2] = {},
): Promise<Observed<ObservedTask>> {
  const { result, exchange } = await scene.expectResult(
    scene.call("getTask", scene.requests.get(taskId, historyLength), options),
    "the task",
  );
  const value = parseTask(result);
  if (value?.taskId === taskId) return { value, exchange };
  throw new Failed(`the task ${taskId}`, exchange);
}

export function requireStreaming(scene: Scene): void {
  if (!scene.card.streaming) throw new Skipped("the card does not offer streaming");
}

export function requirePush({ card }: Scene): void {
  if (!card.pushNotifications) throw new Skipped("the card does not offer push notifications");
}

/** The stream of the ordinary message, which is read once. */
export function ordinaryStream(scene: Scene): Promise<RecordedStream> {
  requireStreaming(scene);
  const { shared, settings } = scene.stage;
  return shared.get("the stream of an ordinary message", () =>
    streamMessage(scene, settings.message),
  );
}

/** The stream of the slow message, which is read once. */
export function slowStream(scene: Scene): Promise<RecordedStream> {
  requireStreaming(scene);
  return scene.stage.shared.get("the stream of a slow message", async () =>
    streamMessage(scene, await slowText(scene)),
  );
}

/** Sends a text and reads its whole stream. */
export async function streamMessage(scene: Scene, text: string): Promise<RecordedStream> {
  const opened = await scene.open("sendStreamingMessage", scene.requests.send(text));
  return scene.readStream(opened);
}

/** The id of the task that the events are about, or "". */
export function taskIdIn(events: readonly ObservedEvent[]): string {
  for (const event of events)
    if (event.kind !== "message" && event.taskId !== "") return event.taskId;
  return "";
}

/** Whether a stream may end with this event. */
export function mayEndStream(event: ObservedEvent): boolean {
  if (event.kind === "message") return true;
  const { state } = event.kind === "task" || event.kind === "status" ? event : {};
  return state !== undefined && (isTerminal(state) || isInterrupted(state));
}

/** Fails unless a field may have its name in the proto, as ProtoJSON parsers accept both. */
export async function expectProtoNames(scene: Scene): Promise<void> {
  const contextId = randomUUID();
  const plain = scene.requests.send(scene.settings.message);
  const params = withValueAt(plain, ["message", "context_id"], contextId);
  const { result, exchange } = await scene.expectResult(
    scene.call("sendMessage", params),
    "a task or a message",
  );
  if (parseResult(result)?.contextId === contextId) return;
  throw new Failed(`the contextId ${contextId} of the field context_id`, exchange);
}
