import type { Message, Role } from "../../message.ts";
import { checkOf } from "../check.ts";
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

/** Writes a message. */
export function encodeMessage(message: Message): WireMessage {
  const { kind: _, ...rest } = message;
  return {
    ...rest,
    role: message.role === "user" ? "ROLE_USER" : "ROLE_AGENT",
    parts: message.parts.map(encodePart),
  };
}
