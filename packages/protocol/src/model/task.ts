import type { Message } from "./message.ts";
import { type A2APart, type Metadata, joinAll, joinParts, textOfParts } from "./part.ts";

/** Every state a task can be in, spelled as in A2A 0.3. */
export const TASK_STATES = [
  "submitted",
  "working",
  "input-required",
  "auth-required",
  "completed",
  "canceled",
  "failed",
  "rejected",
  "unknown",
] as const;

export type TaskState = (typeof TASK_STATES)[number];

/** The state of a task, when it was entered, and a message from the agent about it. */
export interface TaskStatus {
  readonly state: TaskState;
  readonly message?: Message;
  /** ISO 8601 in UTC. */
  readonly timestamp?: string;
}

/** The snapshot of a task, computed from its log by `applyEvent`. */
export interface Task {
  readonly kind: "task";
  readonly id: string;
  readonly contextId: string;
  readonly status: TaskStatus;
  readonly history?: readonly Message[];
  readonly artifacts?: readonly A2AArtifact[];
  readonly metadata?: Metadata;
}

/** A terminal task never changes again. */
export function isTerminal(state: TaskState): boolean {
  return (
    state === "completed" || state === "canceled" || state === "failed" || state === "rejected"
  );
}

/** An interrupted task waits for its caller. */
export function isInterrupted(state: TaskState): boolean {
  return state === "input-required" || state === "auth-required";
}

/**
 * Whether a task may move from one state to another. States only move forward: from submitted to
 * working and the interrupted states, among which a task may alternate, and then to one terminal state.
 */
export function mayFollow(from: TaskState, to: TaskState): boolean {
  return !isTerminal(from) && rank(to) >= rank(from);
}

function rank(state: TaskState): number {
  if (isTerminal(state)) return 2;
  return state === "submitted" || state === "unknown" ? 0 : 1;
}

/** The task with at most `length` of its newest messages; `undefined` keeps all, 0 removes the history (1.0 §3.2.4). */
export function withHistoryLength(task: Task, length: number | undefined): Task {
  if (length === undefined || task.history === undefined) return task;
  if (length > 0) return { ...task, history: task.history.slice(-length) };
  const { history: _, ...rest } = task;
  return rest;
}

/**
 * The text of an agent's answer: its artifacts, otherwise its status message, otherwise its last
 * message in the history.
 */
export function textOf(answer: Task | Message): string {
  if (answer.kind === "message") return textOfParts(answer.parts);
  const artifacts = (answer.artifacts ?? []).map(({ parts }) => textOfParts(parts));
  const text = artifacts.filter((part) => part !== "").join("\n");
  if (text !== "") return text;
  const last = answer.status.message ?? answer.history?.findLast(({ role }) => role === "agent");
  return last === undefined ? "" : textOfParts(last.parts);
}

/** An output of an agent: the text of its answer, a file, a record. */
export interface A2AArtifact {
  readonly artifactId: string;
  readonly name?: string;
  readonly description?: string;
  readonly parts: readonly A2APart[];
  readonly extensions?: readonly string[];
  readonly metadata?: Metadata;
}

/**
 * Chunks that were appended to an artifact and not yet joined. All versions of one artifact share
 * the list of chunks; `count` says how many of them belong to this version.
 */
interface PendingChunks {
  readonly described: Omit<A2AArtifact, "parts">;
  readonly parts: readonly A2APart[];
  readonly chunks: (readonly A2APart[])[];
  readonly count: number;
}

const pending = new WeakMap<A2AArtifact, PendingChunks>();

/**
 * The artifact with one more chunk. An artifact with many parts joins its chunks only when `parts`
 * is read, so that appending a chunk costs the same however many came before it (guarantee G9:
 * linear cost).
 */
export function appendChunk(artifact: A2AArtifact, more: A2AArtifact): A2AArtifact {
  const { parts: chunk, ...described } = more;
  const collected = pending.get(artifact) ?? startCollecting(artifact);
  if (collected === undefined) {
    return { ...artifact, ...described, parts: joinParts(artifact.parts, chunk) };
  }
  const { chunks, count } = collected;
  // Another version already appended a chunk here, so the shared list is no longer ours.
  const own = chunks.length === count ? chunks : chunks.slice(0, count);
  own.push(chunk);
  return collecting({
    described: { ...collected.described, ...described },
    parts: collected.parts,
    chunks: own,
    count: count + 1,
  });
}

/** Artifacts with fewer parts are copied with each chunk, which is faster than collecting chunks. */
const MIN_COLLECTED_PARTS = 64;

function startCollecting(artifact: A2AArtifact): PendingChunks | undefined {
  const { parts, ...described } = artifact;
  return parts.length < MIN_COLLECTED_PARTS
    ? undefined
    : { described, parts, chunks: [], count: 0 };
}

function collecting(collected: PendingChunks): A2AArtifact {
  const { described, parts, chunks, count } = collected;
  let value: readonly A2APart[] | undefined;
  const artifact = Object.defineProperty({ ...described }, "parts", {
    get: () => {
      if (value !== undefined) return value;
      value = joinAll(parts, chunks.slice(0, count));
      pending.set(artifact, { described, parts: value, chunks: [], count: 0 });
      return value;
    },
    enumerable: true,
  }) as A2AArtifact;
  pending.set(artifact, collected);
  return artifact;
}
