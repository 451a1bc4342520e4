import { hash } from "node:crypto";
import type { Message } from "@convoke/protocol";

/**
 * What a message says, in one line. It is taken from the decoded message, so
 * that a retry counts as the same whichever binding or version carries it.
 */
export function digestOf(message: Message): string {
  const said = Object.entries(message).filter(([, value]) => !isEmpty(value));
  return hash("sha256", canonical(Object.fromEntries(said)), "base64url");
}

/** In 1.0 an empty field and an absent one are the same, and clients write either. */
function isEmpty(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value === "" || value === null;
  return Object.keys(value).length === 0;
}

/** JSON with sorted keys: the order in which a client writes fields says nothing. */
function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  fields.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(",")}}`;
}
