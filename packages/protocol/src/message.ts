import { type A2APart, type Metadata, textPart } from "./part.ts";

/** Who speaks: the caller or the agent. */
export type Role = "user" | "agent";

/** One turn of a conversation. */
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

/** What an agent says, as a message. */
export function agentMessage(messageId: string, content: string | readonly A2APart[]): Message {
  return { kind: "message", messageId, role: "agent", parts: partsOf(content) };
}

/** What a caller says, as a message. */
export function userMessage(messageId: string, content: string | readonly A2APart[]): Message {
  return { kind: "message", messageId, role: "user", parts: partsOf(content) };
}

function partsOf(content: string | readonly A2APart[]): readonly A2APart[] {
  return typeof content === "string" ? [textPart(content)] : content;
}
