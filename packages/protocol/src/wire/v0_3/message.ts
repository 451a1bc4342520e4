import type { Message } from "../../message.ts";
import { checkOf } from "../check.ts";
import { withKind } from "../with-kind.ts";
import { todaysMessage } from "./early-forms.ts";
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

/** Reads a message that a server sent, in the forms of early ones too. It may have no parts. */
export function decodeSentMessage(value: unknown, field: string): Message {
  const message = todaysMessage(value) as Message;
  if (message?.parts?.length === 0) return withKind("message", message);
  return decodeMessage(message, field);
}

/** Writes a message. */
export function encodeMessage(message: Message): Message {
  if (message.parts.every(isOldForm)) return message;
  return { ...message, parts: message.parts.map(encodePart) };
}
