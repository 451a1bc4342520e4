import {
  A2AError,
  invalidParams,
  isMessageReceived,
  type Message,
  type Task,
} from "@convoke/protocol";
import type { Accepted, Incoming } from "./accept-message.ts";
import type { Backend, Committed } from "../log/backend.ts";
import { digestOf } from "../task/digest.ts";
import type { Engine } from "../run/engine.ts";
import type { LiveTask } from "../run/live-task.ts";
import { type Folded, foldMore } from "../log/load-task.ts";
import { storable } from "../run/storable.ts";
import { type LogEntry, readEntry } from "../log/log-entry.ts";

const PAGE = 256;

type Duplicate = Extract<Committed, { kind: "duplicate" }>;

/** The same id with the same words is a retry: the caller gets the task it already has (G6). */
export async function joinTask(
  engine: Engine,
  { message, caller }: Incoming,
  { taskId, digest }: Duplicate,
): Promise<Accepted> {
  const isSame =
    digest === digestOf(message) || digest === (await storedDigest(engine, taskId, message));
  if (!isSame) {
    const problem = `was used for another message, of task ${taskId}; use a new messageId`;
    throw invalidParams("message.messageId", problem);
  }
  const live = await engine.tasks.openFor(caller, taskId);
  try {
    if (live.oldest > 0) return { live, after: live.writer.head, joined: whole(live) };
    const came = await findArrival(engine.backend, taskId, message.messageId);
    // The store knows the first before the one who sent it does.
    await live.until(({ writer }) => writer.head > 0);
    const joined = came === undefined ? whole(live) : foldMore(came.before, [came.entry]);
    return { live, after: joined.head - 1, joined };
  } finally {
    engine.tasks.release(live);
  }
}

/** Of a log that was compacted nothing can be told but how it ended. */
function whole({ task, writer }: LiveTask): Folded {
  return { task, head: writer.head, size: writer.size };
}

/**
 * The digest that the message had if the agent let only a part of it be stored: it is asked again
 * about the task as it stood then. Where the log was compacted since, nobody knows how that was.
 */
async function storedDigest(
  engine: Engine,
  taskId: string,
  message: Message,
): Promise<string | undefined> {
  if (engine.agent.accept === undefined) return undefined;
  const { entry, before } = (await findArrival(engine.backend, taskId, message.messageId)) ?? {};
  if (entry === undefined || before === undefined || !isMessageReceived(entry.event)) {
    return undefined;
  }
  try {
    const { timestamp: at } = entry.event;
    return digestOf(storable(engine, { task: before.task, message, at }));
  } catch (error) {
    // It would have been refused, so it is another one.
    if (A2AError.is(error)) return undefined;
    throw error;
  }
}

/** How a message came to its task. */
interface Arrival {
  readonly entry: LogEntry;
  /** The task before it; absent when the message began the task. */
  readonly before: Folded | undefined;
}

/** Looks a message up in the log of its task. Nothing where the log does not have it, or was compacted. */
async function findArrival(
  backend: Backend,
  taskId: string,
  messageId: string,
): Promise<Arrival | undefined> {
  let before: Folded | undefined;
  for (;;) {
    const page = (await backend.read(taskId, before?.head ?? 0, PAGE)).map(readEntry);
    if (before === undefined && page[0]?.seq !== 1) return undefined;
    const place = page.findIndex(({ event }) => brings(event, messageId));
    const earlier = place === -1 ? page : page.slice(0, place);
    if (earlier.length > 0) before = foldMore(before, earlier);
    const entry = page[place];
    if (entry !== undefined) return { entry, before };
    if (page.length < PAGE) return undefined;
  }
}

function brings(event: LogEntry["event"], messageId: string): boolean {
  if (event.kind === "task") {
    return (event as Task).history?.some((message) => message.messageId === messageId) === true;
  }
  return (
    event.kind === "internal:message" &&
    (event as { readonly message: Message }).message.messageId === messageId
  );
}
