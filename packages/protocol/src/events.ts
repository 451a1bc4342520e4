import type { A2AArtifact } from "./artifact.ts";
import type { Message } from "./message.ts";
import type { Metadata } from "./part.ts";
import { type Task, type TaskState, type TaskStatus, isTerminal } from "./task.ts";

/** The whole task, as it was when the event was written. A log begins with one. */
export type TaskEvent = Task;

/** The task moved, or the agent said something about where it stands. */
export interface StatusUpdateEvent {
  readonly kind: "status-update";
  readonly taskId: string;
  readonly contextId: string;
  readonly status: TaskStatus;
  /** Whether this interaction ends here; see `isFinal`. */
  readonly final: boolean;
  readonly metadata?: Metadata;
}

/** A new artifact, or more of one. */
export interface ArtifactUpdateEvent {
  readonly kind: "artifact-update";
  readonly taskId: string;
  readonly contextId: string;
  readonly artifact: A2AArtifact;
  /** True adds the parts to the artifact; otherwise they replace it. */
  readonly append?: boolean;
  readonly lastChunk?: boolean;
  readonly metadata?: Metadata;
}

/** A message to the task. It folds into the history and is not streamed. */
export interface MessageReceivedEvent extends InternalEvent {
  readonly kind: "internal:message";
  readonly message: Message;
  readonly timestamp: string;
}

/** Anything an agent notes for itself. Never sent to a client. */
export interface InternalEvent {
  readonly kind: `internal:${string}`;
  readonly taskId: string;
  readonly [field: string]: unknown;
}

/** What clients see of a task. */
export type PublicEvent = TaskEvent | StatusUpdateEvent | ArtifactUpdateEvent | Message;

/** Everything that can happen to a task, and so everything its log may hold. */
export type AgentEvent = PublicEvent | MessageReceivedEvent | InternalEvent;

/** Whether clients may see the event. */
export function isPublic(event: AgentEvent): event is PublicEvent {
  return !event.kind.startsWith("internal:");
}

/** Whether the event is a message to the task. */
export function isMessageReceived(event: AgentEvent): event is MessageReceivedEvent {
  return event.kind === "internal:message";
}

/**
 * `final` depends on the state alone. A task that waits for input ends the
 * interaction, because the answer is a new request; one that waits for
 * authorization may go on by itself (1.0 §7.6.1).
 */
export function isFinal(state: TaskState): boolean {
  return isTerminal(state) || state === "input-required";
}
