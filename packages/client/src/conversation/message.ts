import { type A2APart, type Message, userMessage } from "@convoke/protocol";

/** What can be said to an agent: a text, parts, or a message of your own making. */
export type Input = string | readonly A2APart[] | Message;

export interface MessageOptions {
  /** Continues this conversation. */
  readonly contextId?: string | undefined;
  /** Answers or adds to this task. */
  readonly taskId?: string | undefined;
  /** By default a new one; the same id makes a retry join the first attempt. */
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
