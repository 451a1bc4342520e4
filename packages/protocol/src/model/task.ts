import type { A2AArtifact } from "./artifact.ts";
import type { Message } from "./message.ts";
import { type Metadata, textOfParts } from "./part.ts";

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
