import { createHash } from "node:crypto";
import type { Message } from "@convoke/protocol";

/**
 * What a message says, in one line. It is taken from the decoded message, so
 * that a retry counts as the same whichever binding or version carries it.
 */
export function digestOf(message: Message): string {
  return createHash("sha256").update(canonical(message)).digest("base64url");
}

/** JSON with sorted keys: the order in which a client writes fields says nothing. */
function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  fields.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(",")}}`;
}
