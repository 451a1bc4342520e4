import { A2AError, type Message, invalidParams, isMessageReceived } from "@convoke/protocol";
import type { Accepted, Incoming } from "./accept-message.ts";
import type { Committed } from "../log/backend.ts";
import { digestOf } from "../task/digest.ts";
import type { Engine } from "../run/engine.ts";
import { findArrival } from "../log/find-arrival.ts";
import type { LiveTask } from "../run/live-task.ts";
import { type Folded, foldMore } from "../log/load-task.ts";
import { storable } from "../run/storable.ts";

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
