import {
  A2AError,
  type Agent,
  type Message,
  type Task,
  invalidParams,
  isMessageReceived,
} from "@convoke/protocol";
import { digestMessage } from "./digest-message.ts";
import type { AcceptedTask, AddressedMessage } from "./incoming.ts";
import type { Backend, CommitResult } from "../log/backend.ts";
import type { Engine } from "../run/engine.ts";
import type { LiveTask } from "../run/live-task.ts";
import { type TaskSnapshot, applyEntries } from "../log/task-snapshot.ts";
import { type LogEntry, readEntries } from "../log/log-entry.ts";

type Duplicate = Extract<CommitResult, { kind: "duplicate" }>;

/** Handles a messageId that was used before. The same message again is a retry, and gets the task it created (G6). */
export async function joinTask(
  engine: Engine,
  incoming: AddressedMessage,
  { taskId, digest }: Duplicate,
): Promise<AcceptedTask> {
  const { message, caller, agent } = incoming;
  const isSame =
    digest === digestMessage(message) || digest === (await storedDigest(engine, taskId, incoming));
  if (!isSame) {
    const problem = `was used for another message, of task ${taskId}; use a new messageId`;
    throw invalidParams("message.messageId", problem);
  }
  const live = await engine.tasks.openFor(engine.scope(caller, agent), taskId);
  try {
    if (live.oldest > 0) return { live, after: live.writer.head, joined: currentSnapshot(live) };
    const arrival = await findArrival(engine.backend, taskId, message.messageId);
    // The first request may not have finished its commit in this process yet.
    await live.until(({ isStored }) => isStored);
    const joined =
      arrival === undefined ? currentSnapshot(live) : applyEntries(arrival.before, [arrival.entry]);
    return { live, after: joined.head - 1, joined };
  } finally {
    engine.tasks.release(live);
  }
}

/** Used if the log was compacted: only the final state is known. */
function currentSnapshot({ task, writer }: LiveTask): TaskSnapshot {
  return { task, head: writer.head, size: writer.size };
}

/**
 * The digest of the message as the agent would have stored it: the agent may let only a part of a
 * message be stored. It is asked again with the task at that time, which is unknown if the log was
 * compacted since.
 */
async function storedDigest(
  engine: Engine,
  taskId: string,
  { message, agent: { definition } }: AddressedMessage,
): Promise<string | undefined> {
  if (definition.accept === undefined && definition.translate === undefined) return undefined;
  const { entry, before } = (await findArrival(engine.backend, taskId, message.messageId)) ?? {};
  if (entry === undefined || before === undefined || !isMessageReceived(entry.event)) {
    return undefined;
  }
  try {
    const { timestamp: at } = entry.event;
    return digestMessage(toStoredMessage(definition, { task: before.task, message, at }));
  } catch (error) {
    // The agent would have refused it, so it is a different message.
    if (A2AError.is(error)) return undefined;
    throw error;
  }
}

/** The log entry of a message. */
interface Arrival {
  readonly entry: LogEntry;
  /** The task before the message; absent if the message created the task. */
  readonly before: TaskSnapshot | undefined;
}

const PAGE = 256;

/** Finds a message in the log of its task. Resolves to `undefined` if it is not there or the log was compacted. */
async function findArrival(
  backend: Backend,
  taskId: string,
  messageId: string,
): Promise<Arrival | undefined> {
  let before: TaskSnapshot | undefined;
  for (;;) {
    const page = readEntries(await backend.read(taskId, before?.head ?? 0, PAGE));
    if (before === undefined && page[0]?.seq !== 1) return undefined;
    const index = page.findIndex(({ event }) => hasMessage(event, messageId));
    const earlier = index === -1 ? page : page.slice(0, index);
    if (earlier.length > 0) before = applyEntries(before, earlier);
    const entry = page[index];
    if (entry !== undefined) return { entry, before };
    if (page.length < PAGE) return undefined;
  }
}

function hasMessage(event: LogEntry["event"], messageId: string): boolean {
  if (event.kind === "task") {
    return (event as Task).history?.some((message) => message.messageId === messageId) === true;
  }
  return (
    event.kind === "internal:message" &&
    (event as { readonly message: Message }).message.messageId === messageId
  );
}

/** The message as the agent wants it to be stored. Throws if the agent refuses it. */
export function toStoredMessage(
  agent: Agent,
  facts: { readonly task: Task; readonly message: Message; readonly at: string },
): Message {
  const { task, at } = facts;
  const message = translateMessage(agent, task, facts.message);
  return agent.accept?.(task, message, new Date(at)) ?? message;
}

/** The message in the form that the agent understands, if it is in a dialect of the agent. */
export function translateMessage(agent: Agent, task: Task, message: Message): Message {
  return agent.translate?.(message, task) ?? message;
}
