import { type A2APart, type Message, userMessage } from "@convoke/protocol";

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

export function toMessage(input: Input, options: MessageOptions): Message {
  const { contextId, taskId, messageId, referenceTaskIds } = options;
  const isMessage = typeof input === "object" && "kind" in input;
  const message = isMessage ? input : userMessage(crypto.randomUUID(), input);
  return {
    ...message,
    ...(messageId !== undefined && { messageId }),
    ...(contextId !== undefined && { contextId }),
    ...(taskId !== undefined && { taskId }),
    ...(referenceTaskIds !== undefined && { referenceTaskIds }),
  };
}
