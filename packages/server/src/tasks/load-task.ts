import { type Message, type Task, applyEvent } from "@convoke/protocol";
import type { Backend, Seq, TaskRecord } from "./backend.ts";
import { joinChunks } from "./join-chunks.ts";
import { type LogEntry, readEntry } from "./log-entry.ts";

/** A task as it was at one place of its log. */
export interface Folded {
  readonly task: Task;
  readonly head: Seq;
  /** The whole answer, when it was one message without a task. */
  readonly reply?: Message;
}

/** The fold of some more events. */
export function foldMore(folded: Folded | undefined, entries: readonly LogEntry[]): Folded {
  const last = entries.at(-1);
  let task = folded?.task;
  for (const event of joinChunks(entries)) task = applyEvent(task, event);
  if (task === undefined) throw new Error("a log begins with a task");
  const reply = last?.event.kind === "message" ? (last.event as Message) : folded?.reply;
  return { task, head: last?.seq ?? folded?.head ?? 0, ...(reply && { reply }) };
}

const PAGE = 256;

/**
 * Folds a stored log: the snapshot, if there is one, and what came after it, up
 * to some place. A snapshot of a later place is of no use there.
 */
export async function loadTask(
  backend: Backend,
  { taskId, snapshot }: TaskRecord,
  upTo: Seq = Number.POSITIVE_INFINITY,
): Promise<Folded> {
  let folded: Folded | undefined =
    snapshot !== undefined && snapshot.seq <= upTo
      ? { task: JSON.parse(snapshot.json) as Task, head: snapshot.seq }
      : undefined;
  for (;;) {
    const after = folded?.head ?? 0;
    const limit = Math.min(PAGE, upTo - after);
    const page = limit > 0 ? await backend.read(taskId, after, limit) : [];
    if (page.length > 0 || folded === undefined) folded = foldMore(folded, page.map(readEntry));
    if (page.length < PAGE) return folded;
  }
}
