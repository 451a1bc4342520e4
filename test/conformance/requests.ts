import { randomUUID } from "node:crypto";
import { type Message, type SendMessageRequest, userMessage } from "@convoke/protocol";

/** An ordinary message with one text and a unique id; a test overrides only what matters to it. */
export function aMessage(text: string, overrides: Partial<Message> = {}): Message {
  return { ...userMessage(randomUUID(), text), ...overrides };
}

/** A send that waits for its task. */
export function aRequest(
  message: Message | string,
  overrides: Partial<SendMessageRequest> = {},
): SendMessageRequest {
  const sent = typeof message === "string" ? aMessage(message) : message;
  return { message: sent, blocking: true, ...overrides };
}
