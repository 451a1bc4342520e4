import { type Message, type Task, invalidParams } from "@convoke/protocol";
import type { Accepted, Incoming } from "./accept-message.ts";
import type { Backend, Committed, Seq } from "./backend.ts";
import { digestOf } from "./digest.ts";
import type { Engine } from "./engine.ts";
import { type LogEntry, readEntry } from "./log-entry.ts";

type Duplicate = Extract<Committed, { kind: "duplicate" }>;

/** The same id with the same words is a retry: the caller gets the task it already has (G6). */
export async function joinTask(
  engine: Engine,
  { message, caller }: Incoming,
  { taskId, digest }: Duplicate,
): Promise<Accepted> {
  if (digest !== digestOf(message)) {
    const problem = `was used for another message, of task ${taskId}; use a new messageId`;
    throw invalidParams("message.messageId", problem);
  }
  const live = await engine.open(await engine.record(taskId, caller));
  return { live, after: await placeBefore(engine.backend, taskId, message.messageId) };
}

const PAGE = 256;

/** The sequence before the event that brought the message. */
async function placeBefore(backend: Backend, taskId: string, messageId: string): Promise<Seq> {
  for (let after = 0; ; after += PAGE) {
    const page = await backend.read(taskId, after, PAGE);
    const found = page.map(readEntry).find(({ event }) => brings(event, messageId));
    if (found !== undefined) return found.seq - 1;
    if (page.length < PAGE) return 0;
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
