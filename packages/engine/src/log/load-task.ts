import {
  type AgentEvent,
  applyEvent,
  type ArtifactUpdateEvent,
  isPlainText,
  type Message,
  type Task,
} from "@convoke/protocol";
import type { Backend, Seq, Snapshot, StoredTask } from "./backend.ts";
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

/**
 * The same fold with fewer steps: neighbouring chunks of text of one artifact
 * become one event. An answer comes in hundreds of them per commit.
 */
function* joinChunks(entries: readonly LogEntry[]): Generator<AgentEvent, void> {
  let first: ArtifactUpdateEvent | undefined;
  let texts: string[] = [];
  for (const { event } of entries) {
    const text = chunkTextOf(event);
    const chunk = event as ArtifactUpdateEvent;
    if (text !== undefined && first?.artifact.artifactId === chunk.artifact.artifactId) {
      texts.push(text);
      continue;
    }
    if (first !== undefined) yield joined(first, texts);
    first = text === undefined ? undefined : chunk;
    texts = text === undefined ? [] : [text];
    if (text === undefined) yield event;
  }
  if (first !== undefined) yield joined(first, texts);
}

/** The text of an event that does nothing but append it. */
function chunkTextOf(event: AgentEvent): string | undefined {
  if (event.kind !== "artifact-update") return undefined;
  const { artifact, append } = event as ArtifactUpdateEvent;
  const part = artifact.parts[0];
  if (append !== true || part === undefined || artifact.parts.length > 1) return undefined;
  const isBare =
    artifact.name === undefined &&
    artifact.description === undefined &&
    artifact.metadata === undefined &&
    artifact.extensions === undefined;
  return isBare && isPlainText(part) ? part.text : undefined;
}

function joined(first: ArtifactUpdateEvent, texts: readonly string[]): ArtifactUpdateEvent {
  const parts = [{ kind: "text", text: texts.join("") }] as const;
  return { ...first, artifact: { ...first.artifact, parts } };
}
