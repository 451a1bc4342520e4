import { type A2APart, type Metadata, textPart } from "./part.ts";

/** The sender of a message: the caller or the agent. */
export type Role = "user" | "agent";

/** One message of a conversation. */
export interface Message {
  readonly kind: "message";
  readonly messageId: string;
  readonly role: Role;
  readonly parts: readonly A2APart[];
  readonly taskId?: string;
  readonly contextId?: string;
  readonly referenceTaskIds?: readonly string[];
  readonly extensions?: readonly string[];
  readonly metadata?: Metadata;
}

/** Creates a message from the agent. */
export function agentMessage(messageId: string, content: string | readonly A2APart[]): Message {
  return { kind: "message", messageId, role: "agent", parts: toParts(content) };
}

/** Creates a message from the caller. */
export function userMessage(messageId: string, content: string | readonly A2APart[]): Message {
  return { kind: "message", messageId, role: "user", parts: toParts(content) };
}

function toParts(content: string | readonly A2APart[]): readonly A2APart[] {
  return typeof content === "string" ? [textPart(content)] : content;
}
