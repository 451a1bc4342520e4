import type { Message } from "../../message.ts";
import { checkOf } from "../check.ts";
import { withKind } from "../with-kind.ts";
import { decodePart, encodePart, isOldForm } from "./part.ts";
import { MESSAGE } from "./schemas.ts";

const check = checkOf(MESSAGE);

/** Reads a message; fields we do not know are kept. */
export function decodeMessage(value: unknown, field: string): Message {
  check(value, field);
  const message = value as Message;
  const parts = message.parts.map((part, place) => decodePart(part, `${field}.parts[${place}]`));
  return withKind("message", { ...message, parts });
}

/** Writes a message. */
export function encodeMessage(message: Message): Message {
  if (message.parts.every(isOldForm)) return message;
  return { ...message, parts: message.parts.map(encodePart) };
}
