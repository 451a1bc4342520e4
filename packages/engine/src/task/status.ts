import {
  type AgentEvent,
  type Message,
  type Metadata,
  type StatusUpdateEvent,
  type Task,
  type TaskState,
  type TraceContext,
  isFinal,
  isTerminal,
  mayFollow,
  textOfParts,
} from "@convoke/protocol";
import { parseIsoTime } from "./task-clock.ts";

/** Creates a status update event. */
export function createStatusEvent(options: {
  readonly taskId: string;
  readonly contextId: string;
  readonly state: TaskState;
  readonly timestamp: string;
  readonly message?: Message;
  readonly metadata?: Metadata;
  /** Whether the stream stays open while the agent waits for input. */
  readonly keepOpen?: boolean;
}): StatusUpdateEvent {
  const { taskId, contextId, state, timestamp, message } = options;
  const metadata = withError(state, message, options.metadata);
  const keepsOpen = options.keepOpen === true && state === "input-required";
  return {
    kind: "status-update",
    taskId,
    contextId,
    status: { state, ...(message && { message }), timestamp },
    final: isFinal(state) && !keepsOpen,
    ...(metadata && { metadata }),
  };
}

/** Repeats the message of a failure in `metadata.error`, where programs look for it. */
function withError(
  state: TaskState,
  message: Message | undefined,
  metadata: Metadata | undefined,
): Metadata | undefined {
  if (state !== "failed" || message === undefined) return metadata;
  return { error: textOfParts(message.parts), ...metadata };
}

/** The trace as event metadata. The vendor state is left out: it is for called services, not for readers of events. */
export function traceFields(trace: TraceContext | undefined): Metadata {
  return trace === undefined ? {} : { traceId: trace.traceId, spanId: trace.spanId };
}

/** An agent moved its task to a state that is not allowed, or wrote after its end. */
export class StateError extends Error {
  override readonly name = "StateError";
}

/** The state of a task and when it was entered. */
export interface CurrentStatus {
  readonly state: TaskState;
  /** In milliseconds since the epoch. */
  readonly statusAt: number;
}

/**
 * The status after some events, which need not be committed yet. Throws if the
 * state machine does not allow them (G5: only legal state transitions).
 */
export function statusAfter(status: CurrentStatus, events: readonly AgentEvent[]): CurrentStatus {
  return events.reduce(advance, status);
}

function advance(current: CurrentStatus, event: AgentEvent): CurrentStatus {
  const { state } = current;
  if (isTerminal(state)) throw new StateError(`the task is already ${state}`);
  if (event.kind === "message") return { ...current, state: "completed" };
  if (event.kind !== "task" && event.kind !== "status-update") return current;
  const { status } = event as Task;
  if (!mayFollow(state, status.state)) {
    throw new StateError(`the task cannot go from ${state} to ${status.state}`);
  }
  return {
    state: status.state,
    statusAt: status.timestamp === undefined ? current.statusAt : parseIsoTime(status.timestamp),
  };
}
