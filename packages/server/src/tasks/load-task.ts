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

/** Folds a stored log: the snapshot, if there is one, and what came after it. */
export async function loadTask(backend: Backend, record: TaskRecord): Promise<Folded> {
  const { taskId, snapshot } = record;
  let folded: Folded | undefined = snapshot && {
    task: JSON.parse(snapshot.json) as Task,
    head: snapshot.seq,
  };
  for (;;) {
    const page = await backend.read(taskId, folded?.head ?? 0, PAGE);
    if (page.length > 0 || folded === undefined) folded = foldMore(folded, page.map(readEntry));
    if (page.length < PAGE) return folded;
  }
}
