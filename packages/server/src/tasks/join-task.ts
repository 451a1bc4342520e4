import { type Message, type Task, invalidParams } from "@convoke/protocol";
import type { Accepted, Incoming } from "./accept-message.ts";
import type { Backend, Committed } from "./backend.ts";
import { digestOf } from "./digest.ts";
import type { Engine } from "./engine.ts";
import type { LiveTask } from "./live-task.ts";
import { type Folded, foldMore } from "./load-task.ts";
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
  const live = await engine.tasks.openFor(caller, taskId);
  try {
    if (live.oldest > 0) return { live, after: live.writer.head, joined: whole(live) };
    const joined = await foldUpTo(engine.backend, taskId, message.messageId);
    // The store knows the first before the one who sent it does.
    await live.until(({ writer }) => writer.head > 0);
    return { live, after: joined.head - 1, joined };
  } finally {
    engine.tasks.release(live);
  }
}

/** Of a log that was compacted nothing can be told but how it ended. */
function whole({ task, writer }: LiveTask): Folded {
  return { task, head: writer.head };
}

const PAGE = 256;

/** The task as it stood when the message had just come. */
async function foldUpTo(backend: Backend, taskId: string, messageId: string): Promise<Folded> {
  let folded: Folded | undefined;
  for (;;) {
    const page = (await backend.read(taskId, folded?.head ?? 0, PAGE)).map(readEntry);
    const place = page.findIndex(({ event }) => brings(event, messageId));
    folded = foldMore(folded, place === -1 ? page : page.slice(0, place + 1));
    if (place !== -1 || page.length < PAGE) return folded;
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
