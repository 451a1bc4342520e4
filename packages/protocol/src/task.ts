import type { A2AArtifact } from "./artifact.ts";
import type { Message } from "./message.ts";
import type { Metadata } from "./part.ts";

/** Every state a task can be in, in the words of A2A 0.3. */
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

/** Where a task stands, since when, and what the agent says about it. */
export interface TaskStatus {
  readonly state: TaskState;
  readonly message?: Message;
  /** ISO 8601 in UTC. */
  readonly timestamp?: string;
}

/** The snapshot of a task: the fold of its log. */
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
 * States only move forward: submitted, then back and forth among working and
 * the interrupted ones, then one terminal state for ever.
 */
export function mayFollow(from: TaskState, to: TaskState): boolean {
  return !isTerminal(from) && rank(to) >= rank(from);
}

function rank(state: TaskState): number {
  if (isTerminal(state)) return 2;
  return state === "submitted" || state === "unknown" ? 0 : 1;
}

/** The task with at most `length` of its newest messages; `undefined` keeps all, 0 leaves none (1.0 §3.2.4). */
export function withHistoryLength(task: Task, length: number | undefined): Task {
  if (length === undefined || task.history === undefined) return task;
  if (length > 0) return { ...task, history: task.history.slice(-length) };
  const { history: _, ...rest } = task;
  return rest;
}
