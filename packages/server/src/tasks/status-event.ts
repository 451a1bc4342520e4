import {
  type Message,
  type Metadata,
  type StatusUpdateEvent,
  type TaskState,
  isFinal,
} from "@convoke/protocol";

/** A status update as the engine writes it. */
export function statusEvent(options: {
  readonly taskId: string;
  readonly contextId: string;
  readonly state: TaskState;
  readonly timestamp: string;
  readonly message?: Message;
  readonly metadata?: Metadata;
  /** The agent keeps its stream open while it waits for input. */
  readonly keepOpen?: boolean;
}): StatusUpdateEvent {
  const { taskId, contextId, state, timestamp, message, metadata } = options;
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
