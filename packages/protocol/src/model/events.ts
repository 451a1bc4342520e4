import type { A2AArtifact } from "./artifact.ts";
import type { InternalEvent } from "./journal.ts";
import type { Message } from "./message.ts";
import type { Metadata } from "./part.ts";
import { type Task, type TaskState, type TaskStatus, isTerminal } from "./task.ts";

/** The whole task, as it was when the event was written. A log begins with one. */
export type TaskEvent = Task;

/** The status of the task changed, or the agent reported progress. */
export interface StatusUpdateEvent {
  readonly kind: "status-update";
  readonly taskId: string;
  readonly contextId: string;
  readonly status: TaskStatus;
  /** Whether this interaction ends here; see `isFinal`. */
  readonly final: boolean;
  readonly metadata?: Metadata;
}

/** A new artifact, or another chunk of one. */
export interface ArtifactUpdateEvent {
  readonly kind: "artifact-update";
  readonly taskId: string;
  readonly contextId: string;
  readonly artifact: A2AArtifact;
  /** True appends the parts to the artifact; otherwise they replace it. */
  readonly append?: boolean;
  readonly lastChunk?: boolean;
  readonly metadata?: Metadata;
}

/** The events that clients see. */
export type PublicEvent = TaskEvent | StatusUpdateEvent | ArtifactUpdateEvent | Message;

/** Everything that can happen to a task, and therefore everything its log may hold. */
export type AgentEvent = PublicEvent | InternalEvent;

/** Whether clients may see the event. */
export function isPublic(event: AgentEvent): event is PublicEvent {
  return !event.kind.startsWith("internal:");
}

/**
 * `final` depends on the state alone. A task that waits for input ends the interaction, because the
 * answer is a new request; one that waits for authorization may continue by itself (1.0 §7.6.1).
 */
export function isFinal(state: TaskState): boolean {
  return isTerminal(state) || state === "input-required";
}
