import type { Message, Role } from "../../message.ts";
import { checkOf } from "../check.ts";
import { decodeSentMessage as decodeSentKindMessage } from "../v0_3/message.ts";
import { withKind } from "../with-kind.ts";
import { decodePart, encodePart } from "./part.ts";
import { MESSAGE } from "./schemas.ts";

const check = checkOf(MESSAGE);

/** Names and proto numbers. */
const ROLES: Readonly<Record<string, Role>> = {
  ROLE_USER: "user",
  ROLE_AGENT: "agent",
  1: "user",
  2: "agent",
};

type WireMessage = Omit<Message, "kind" | "role" | "parts"> & {
  readonly role: string;
  readonly parts: readonly object[];
};

/** Reads a message; fields we do not know are kept. */
export function decodeMessage(value: unknown, field: string): Message {
  check(value, field);
  const { taskId, contextId, ...rest } = value as WireMessage;
  return withKind("message", {
    ...rest,
    role: ROLES[rest.role] ?? "user",
    parts: rest.parts.map((part, place) => decodePart(part, `${field}.parts[${place}]`)),
    ...(taskId && { taskId }),
    ...(contextId && { contextId }),
  });
}

/** Reads a message that a server sent: it may have no parts, or be in the words of 0.3. */
export function decodeSentMessage(value: unknown, field: string): Message {
  const { parts = [], role, messageId, ...rest } = (value ?? {}) as Partial<WireMessage>;
  if (role !== undefined && OLD_ROLES.has(role)) return decodeSentKindMessage(value, field);
  if (parts.length > 0 || messageId === undefined) return decodeMessage(value, field);
  return withKind("message", { ...rest, messageId, role: ROLES[role ?? ""] ?? "agent", parts: [] });
}

const OLD_ROLES: ReadonlySet<string> = new Set(["user", "agent", "assistant"]);

/** Writes a message. */
export function encodeMessage(message: Message): WireMessage {
  const { kind: _, ...rest } = message;
  return {
    ...rest,
    role: message.role === "user" ? "ROLE_USER" : "ROLE_AGENT",
    parts: message.parts.map(encodePart),
  };
}
