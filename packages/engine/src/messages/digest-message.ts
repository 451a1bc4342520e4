import { hash } from "node:crypto";
import type { Message } from "@convoke/protocol";

/**
 * A digest of the content of a message. It is computed from the decoded message,
 * so that a retry is recognized over any binding and version.
 */
export function digestMessage(message: Message): string {
  const fields = Object.entries(message).filter(([, value]) => !isEmpty(value));
  return hash("sha256", canonical(Object.fromEntries(fields)), "base64url");
}

/** In 1.0 an empty field is the same as an absent one, and clients send either. */
function isEmpty(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value === "" || value === null;
  return Object.keys(value).length === 0;
}

/**
 * JSON with sorted keys, because the order of fields does not matter. Unlike the canonical JSON of
 * signatures it accepts everything that a message can contain, such as unpaired surrogates.
 */
function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  fields.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(",")}}`;
}
