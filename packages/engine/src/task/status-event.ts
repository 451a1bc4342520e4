import {
  type Message,
  type Metadata,
  type StatusUpdateEvent,
  type TaskState,
  isFinal,
  textOfParts,
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

/** What failed says why in its metadata too, where programs look for it. The words are as safe as the message's. */
function withError(
  state: TaskState,
  message: Message | undefined,
  metadata: Metadata | undefined,
): Metadata | undefined {
  if (state !== "failed" || message === undefined) return metadata;
  return { error: textOfParts(message.parts), ...metadata };
}
