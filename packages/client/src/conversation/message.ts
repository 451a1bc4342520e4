import {
  type A2APart,
  type Message,
  type Metadata,
  type SendMessageRequest,
  userMessage,
} from "@convoke/protocol";

/** What can be sent to an agent: text, parts, or a complete message. */
export type Input = string | readonly A2APart[] | Message;

export interface MessageOptions {
  /** Continues the conversation with this context id. */
  readonly contextId?: string | undefined;
  /** Sends the message to this existing task. */
  readonly taskId?: string | undefined;
  /** Default: a new id. With the same id, an agent that deduplicates treats a retry as the first attempt. */
  readonly messageId?: string | undefined;
  /** Other tasks that the message is about. */
  readonly referenceTaskIds?: readonly string[] | undefined;
}

/** What a request to process a message carries in addition to the message. */
export interface RequestOptions {
  /** Media types that the caller can use, such as `text/plain`. Default: any that the agent offers. */
  readonly acceptedOutputModes?: readonly string[] | undefined;
  /**
   * Maximum number of the newest messages in the returned task; 0 for none, which REST and gRPC of
   * 0.3 cannot express. Default: the agent decides.
   */
  readonly historyLength?: number | undefined;
  /** Metadata of the request; that of the message belongs to the message. */
  readonly metadata?: Metadata | undefined;
}

/** The request fields of the options, without absent ones. */
export function requestFields(
  options: RequestOptions,
): Pick<SendMessageRequest, "acceptedOutputModes" | "historyLength" | "metadata"> {
  const { acceptedOutputModes, historyLength, metadata } = options;
  return {
    ...(acceptedOutputModes !== undefined && { acceptedOutputModes }),
    ...(historyLength !== undefined && { historyLength }),
    ...(metadata !== undefined && { metadata }),
  };
}

export function toMessage(input: Input, options: MessageOptions): Message {
  const { contextId, taskId, messageId, referenceTaskIds } = options;
  const isMessage = typeof input === "object" && "kind" in input;
  const message = isMessage ? input : userMessage(messageId ?? crypto.randomUUID(), input);
  const isPlain = contextId === undefined && taskId === undefined && referenceTaskIds === undefined;
  if (isPlain && (!isMessage || messageId === undefined)) return message;
  return {
    ...message,
    ...(messageId !== undefined && { messageId }),
    ...(contextId !== undefined && { contextId }),
    ...(taskId !== undefined && { taskId }),
    ...(referenceTaskIds !== undefined && { referenceTaskIds }),
  };
}
