import { type Hash, createHash, hash } from "node:crypto";
import type { Message } from "@convoke/protocol";

/**
 * A digest of the content of a message. It is computed from the decoded message,
 * so that a retry is recognized over any binding and version.
 */
export function digestMessage(message: Message): string {
  const fields = Object.entries(message).filter(([, value]) => !isEmpty(value));
  const digest = new TextDigest();
  addCanonical(Object.fromEntries(fields), digest);
  return digest.end();
}

/** In 1.0 an empty field is the same as an absent one, and clients send either. */
function isEmpty(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value === "" || value === null;
  return Object.keys(value).length === 0;
}

/** How many characters are hashed at a time. */
const PIECE = 256 * 1024;

/** The digest of a text that is added in pieces, so that a message with a large file is not copied. */
class TextDigest {
  #text = "";
  #hash: Hash | undefined;

  add(text: string): void {
    this.#text += text;
    if (this.#text.length < PIECE) return;
    (this.#hash ??= createHash("sha256")).update(this.#text);
    this.#text = "";
  }

  end(): string {
    if (this.#hash === undefined) return hash("sha256", this.#text, "base64url");
    return this.#hash.update(this.#text).digest("base64url");
  }
}

/**
 * JSON with sorted keys, because the order of fields does not matter. Unlike the canonical JSON of
 * signatures it accepts everything that a message can contain, such as unpaired surrogates.
 */
function addCanonical(value: unknown, digest: TextDigest): void {
  if (typeof value === "string" && value.length > PIECE) addLongText(value, digest);
  else if (typeof value !== "object" || value === null) digest.add(JSON.stringify(value) ?? "null");
  else if (Array.isArray(value)) {
    digest.add("[");
    for (const [index, item] of value.entries()) {
      if (index > 0) digest.add(",");
      addCanonical(item, digest);
    }
    digest.add("]");
  } else addFields(value, digest);
}

function addFields(value: object, digest: TextDigest): void {
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  fields.sort(([a], [b]) => (a < b ? -1 : 1));
  digest.add("{");
  for (const [index, [name, field]] of fields.entries()) {
    digest.add(`${index > 0 ? "," : ""}${JSON.stringify(name)}:`);
    addCanonical(field, digest);
  }
  digest.add("}");
}

/** The same as the JSON of the whole text: no piece ends between the two halves of a character. */
function addLongText(text: string, digest: TextDigest): void {
  digest.add('"');
  for (let start = 0, end; start < text.length; start = end) {
    end = start + PIECE;
    if (isLowSurrogate(text.charCodeAt(end))) end++;
    digest.add(JSON.stringify(text.slice(start, end)).slice(1, -1));
  }
  digest.add('"');
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}
