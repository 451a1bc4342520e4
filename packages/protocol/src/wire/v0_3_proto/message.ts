import type { Message, Role } from "../../message.ts";
import { checkOf } from "../check.ts";
import {
  decodeMessage as decodeKindMessage,
  decodeSentMessage as decodeSentKindMessage,
} from "../v0_3/message.ts";
import { withKind } from "../with-kind.ts";
import { decodePart, encodePart } from "./part.ts";
import { fieldsOf, shapeOf } from "./proto-fields.ts";
import { MESSAGE } from "./schemas.ts";

const check = checkOf(MESSAGE);

const SHAPE = shapeOf([
  "messageId",
  "contextId",
  "taskId",
  "role",
  "content",
  "metadata",
  "extensions",
  "referenceTaskIds",
]);

/** Names and proto numbers. */
const ROLES: Readonly<Record<string, Role>> = {
  ROLE_USER: "user",
  ROLE_AGENT: "agent",
  1: "user",
  2: "agent",
};

type WireMessage = Omit<Message, "kind" | "role" | "parts" | "referenceTaskIds"> & {
  readonly role: string;
  readonly content: readonly object[];
};

/** Reads a message, in this dialect or in that of JSON-RPC; fields we do not know are kept. */
export function decodeMessage(value: unknown, field: string): Message {
  if (isKindMessage(value)) return decodeKindMessage(value, field);
  const named = fieldsOf(value, SHAPE);
  check(named, field);
  const { taskId, contextId, content, ...rest } = named as WireMessage;
  return withKind("message", {
    ...rest,
    role: ROLES[rest.role] ?? "user",
    parts: content.map((part, place) => decodePart(part, `${field}.content[${place}]`)),
    ...(taskId && { taskId }),
    ...(contextId && { contextId }),
  });
}

/** Reads a message that a server sent. ProtoJSON leaves out what is empty, and so it may have no content. */
export function decodeSentMessage(value: unknown, field: string): Message {
  if (isKindMessage(value)) return decodeSentKindMessage(value, field);
  const { content = [], ...rest } = (fieldsOf(value, SHAPE) ?? {}) as Partial<WireMessage>;
  if (content.length > 0 || rest.messageId === undefined) return decodeMessage(value, field);
  const role = ROLES[rest.role ?? ""] ?? "agent";
  return withKind("message", { ...rest, messageId: rest.messageId, role, parts: [] });
}

/** Callers mix the two dialects of 0.3 up; each has something that the other never has. */
function isKindMessage(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { kind, parts, content, role } = value as Readonly<Record<string, unknown>>;
  if (content !== undefined) return false;
  return kind !== undefined || parts !== undefined || role === "user" || role === "agent";
}

/** Writes a message. The proto of 0.3 has no place for `referenceTaskIds`. */
export function encodeMessage(message: Message): WireMessage {
  const { kind: _, parts, referenceTaskIds: __, ...rest } = message;
  return {
    ...rest,
    role: message.role === "user" ? "ROLE_USER" : "ROLE_AGENT",
    content: parts.map(encodePart),
  };
}
