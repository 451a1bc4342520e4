import { type Message, type Task, applyEvent } from "@convoke/protocol";
import type { Backend, Seq, Snapshot, StoredTask } from "./backend.ts";
import { joinChunks } from "./join-chunks.ts";
import { type LogEntry, readEntry } from "./log-entry.ts";

/** A task as it was at one place of its log. */
export interface Folded {
  readonly task: Task;
  readonly head: Seq;
  /** How much JSON it was folded from, in characters: about what it takes up in memory, and no less. */
  readonly size: number;
  /** The whole answer, when it was one message without a task. */
  readonly reply?: Message;
}

/** The fold of some more events. */
export function foldMore(folded: Folded | undefined, entries: readonly LogEntry[]): Folded {
  const last = entries.at(-1);
  let task = folded?.task;
  let size = folded?.size ?? 0;
  for (const { json } of entries) size += json.length;
  for (const event of joinChunks(entries)) task = applyEvent(task, event);
  if (task === undefined) throw new Error("a log begins with a task");
  const reply = last?.event.kind === "message" ? (last.event as Message) : folded?.reply;
  return { task, head: last?.seq ?? folded?.head ?? 0, size, ...(reply && { reply }) };
}

const PAGE = 256;

/**
 * Folds a stored log: the snapshot, if there is one, and what came after it, up
 * to some place. A snapshot of a later place is of no use there.
 */
export async function loadTask(
  backend: Backend,
  { taskId, snapshot }: StoredTask,
  upTo: Seq = Number.POSITIVE_INFINITY,
): Promise<Folded> {
  let folded = snapshot !== undefined && snapshot.seq <= upTo ? foldOf(snapshot) : undefined;
  for (;;) {
    const after = folded?.head ?? 0;
    const limit = Math.min(PAGE, upTo - after);
    const page = limit > 0 ? await backend.read(taskId, after, limit) : [];
    if (page.length > 0 || folded === undefined) folded = foldMore(folded, page.map(readEntry));
    if (page.length < PAGE) return folded;
  }
}

function foldOf({ seq, json }: Snapshot): Folded {
  return { task: JSON.parse(json) as Task, head: seq, size: json.length };
}
