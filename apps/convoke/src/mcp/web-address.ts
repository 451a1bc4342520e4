import type { Message } from "@convoke/protocol";

const MAX_URL = 2000;

/** An address that a person may open. An agent could name others, such as `javascript:`. */
export function webUrl(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > MAX_URL) return undefined;
  const url = URL.parse(value);
  return url?.protocol === "https:" || url?.protocol === "http:" ? url.href : undefined;
}

/** A2A has no field for where to sign in; agents put the address into data or into the text. */
export function addressIn(message: Message | undefined): string | undefined {
  const parts = message?.parts ?? [];
  const data = parts.flatMap((part) => (part.kind === "data" ? textsIn(part.data) : []));
  const words = parts.flatMap((part) => (part.kind === "text" ? part.text.split(/\s+/) : []));
  return [...data, ...words].map(webUrl).find((url) => url !== undefined);
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
