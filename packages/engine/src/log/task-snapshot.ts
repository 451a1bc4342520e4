import {
  type AgentEvent,
  type ArtifactUpdateEvent,
  type Message,
  type Task,
  applyEvent,
  isPlainText,
  isTerminal,
} from "@convoke/protocol";
import type { Backend, Seq, StoredSnapshot, StoredTask } from "./backend.ts";
import { type LogEntry, readEntries } from "./log-entry.ts";

/** A task as it was at one position of its log. */
export interface TaskSnapshot {
  readonly task: Task;
  readonly head: Seq;
  /** The epoch of the event at `head`, if it is known; see `StoredEvent.epoch`. */
  readonly epoch?: number | undefined;
  /** The length of the JSON it was built from, in characters: an upper estimate of its size in memory. */
  readonly size: number;
  /** The reply, if the agent answered with a single message instead of a task. */
  readonly reply?: Message;
}

/** The snapshot after some more events. */
export function applyEntries(
  before: TaskSnapshot | undefined,
  entries: readonly LogEntry[],
): TaskSnapshot {
  const last = entries.at(-1);
  let task = before?.task;
  let size = before?.size ?? 0;
  for (const { json } of entries) size += json.length;
  const events = entries.length < MIN_JOINED ? entries : joinChunks(entries);
  for (const { event } of events) task = applyEvent(task, event);
  if (task === undefined) throw new Error("a log begins with a task");
  const reply = last?.event.kind === "message" ? (last.event as Message) : before?.reply;
  const { seq: head = 0, epoch } = last ?? { seq: before?.head, epoch: before?.epoch };
  return { task, head, epoch, size, ...(reply && { reply }) };
}

/** For fewer entries, joining costs more than it saves. */
const MIN_JOINED = 4;

const PAGE = 256;

/**
 * Loads a task: the stored snapshot, if there is one, and the events after it.
 *
 * @param upTo loads the task as it was at this position; a later snapshot is ignored
 */
export async function loadTask(
  backend: Backend,
  { taskId, snapshot: stored }: StoredTask,
  upTo: Seq = Number.POSITIVE_INFINITY,
): Promise<TaskSnapshot> {
  let snapshot = stored !== undefined && stored.seq <= upTo ? parseSnapshot(stored) : undefined;
  for (;;) {
    const after = snapshot?.head ?? 0;
    const limit = Math.min(PAGE, upTo - after);
    const page = limit > 0 ? await backend.read(taskId, after, limit) : [];
    if (page.length > 0 || snapshot === undefined) {
      snapshot = applyEntries(snapshot, readEntries(page));
    }
    if (page.length < PAGE) return snapshot;
  }
}

function parseSnapshot({ seq, json }: StoredSnapshot): TaskSnapshot {
  return { task: JSON.parse(json) as Task, head: seq, size: json.length };
}

/** Some entries of a log as one event: a single one, or consecutive chunks. */
export interface JoinedEntries<Entry> {
  readonly event: AgentEvent;
  readonly first: Entry;
  readonly last: Entry;
}

/**
 * Joins consecutive text chunks of one artifact into one event. The result is the
 * same with far fewer steps: an answer arrives in hundreds of chunks per commit.
 */
export function* joinChunks<Entry extends { readonly event: AgentEvent }>(
  entries: readonly Entry[],
): Generator<JoinedEntries<Entry>, void> {
  let chunks: Entry[] = [];
  let texts: string[] = [];
  let artifactId = "";
  for (const entry of entries) {
    const text = appendedText(entry.event);
    if (text === undefined) {
      if (chunks.length > 0) yield joined(chunks, texts);
      chunks = [];
      yield { event: entry.event, first: entry, last: entry };
      continue;
    }
    const { artifact } = entry.event as ArtifactUpdateEvent;
    if (chunks.length > 0 && artifact.artifactId !== artifactId) {
      yield joined(chunks, texts);
      chunks = [];
    }
    if (chunks.length === 0) texts = [];
    ({ artifactId } = artifact);
    chunks.push(entry);
    texts.push(text);
  }
  if (chunks.length > 0) yield joined(chunks, texts);
}

/** The text of an event that only appends text. */
function appendedText(event: AgentEvent): string | undefined {
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

function joined<Entry extends { readonly event: AgentEvent }>(
  chunks: readonly Entry[],
  texts: readonly string[],
): JoinedEntries<Entry> {
  const first = chunks[0]!;
  const parts = [{ kind: "text", text: texts.join("") }] as const;
  const chunk = first.event as ArtifactUpdateEvent;
  const event = { ...chunk, artifact: { ...chunk.artifact, parts } };
  return { event, first, last: chunks.at(-1)! };
}

/** An unfinished task is in memory, so its stored snapshot only limits what a restart has to read. */
const MIN_GROWTH = 256 * 1024;

/** An ended task is read from the store; a log shorter than this is faster to replay than a snapshot is to write. */
const MIN_GROWTH_AT_END = 32 * 1024;

/** How many times the size of the snapshot the log after it may grow. */
const GROWTH_FACTOR = 4;

/**
 * Decides when to store a new snapshot: when the log has grown by a multiple of
 * the last snapshot's size. This keeps the cost per event constant, and loading a
 * task costs no more than a few times its size (G9: cost is linear in the log).
 */
export class SnapshotPolicy {
  #grown = 0;
  #size = 0;

  /** The snapshot to store with a step that ends at `seq`, if one is due. */
  due(seq: Seq, bytes: number, task: Task): StoredSnapshot | undefined {
    this.#grown += bytes;
    const least = isTerminal(task.status.state)
      ? MIN_GROWTH_AT_END
      : Math.max(MIN_GROWTH, GROWTH_FACTOR * this.#size);
    if (this.#grown < least) return undefined;
    const json = JSON.stringify(task);
    this.#grown = 0;
    this.#size = json.length;
    return { seq, json };
  }
}
