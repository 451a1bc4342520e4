import type { Message, Task } from "@convoke/protocol";
import type { Backend } from "./backend.ts";
import { type Folded, foldMore } from "./load-task.ts";
import { type LogEntry, readEntry } from "./log-entry.ts";

/** How a message came to its task. */
export interface Arrival {
  readonly entry: LogEntry;
  /** The task before it; absent when the message began the task. */
  readonly before: Folded | undefined;
}

const PAGE = 256;

/** Looks a message up in the log of its task. Nothing where the log does not have it, or was compacted. */
export async function findArrival(
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
