import { canonicalJson } from "../internal/canonical-json.ts";
import type { Metadata } from "../part.ts";
import { MAX_URI_LENGTH } from "./extension-list.ts";

/** An extension that an agent supports, as its card declares it (0.3 §5.5.2.1, 1.0 §4.4.4). */
export interface AgentExtension {
  /** Its one name: callers activate it by exactly this text. */
  readonly uri: string;
  readonly description?: string;
  /** Whoever does not ask for it is refused. */
  readonly required?: boolean;
  /** What callers must know to use it: any JSON object. */
  readonly params?: Metadata;
}

/**
 * Refuses what could not be declared, or never be activated, with the place and the fix. It is a
 * mistake of whoever writes the agent, so it is a TypeError and never crosses the wire.
 */
export function checkAgentExtensions(extensions: readonly AgentExtension[]): void {
  if (!Array.isArray(extensions)) {
    throw new TypeError('extensions must be a list such as [{ uri: "https://…/v1" }]');
  }
  const places = new Map<string, number>();
  for (const [place, extension] of (extensions as readonly unknown[]).entries()) {
    const field = `extensions[${place}]`;
    const { uri } = checkOne(extension, field);
    const earlier = places.get(uri);
    if (earlier !== undefined) {
      throw new TypeError(`${field}.uri repeats that of extensions[${earlier}]: ${uri}`);
    }
    places.set(uri, place);
  }
}

function checkOne(extension: unknown, field: string): AgentExtension {
  if (typeof extension !== "object" || extension === null) {
    throw new TypeError(`${field} must be an object such as { uri: "https://…/v1" }`);
  }
  const { uri, description, required, params } = extension as Readonly<Record<string, unknown>>;
  checkUri(uri, `${field}.uri`);
  if (description !== undefined && typeof description !== "string") {
    throw new TypeError(`${field}.description must be a text`);
  }
  if (required !== undefined && typeof required !== "boolean") {
    throw new TypeError(`${field}.required must be true or false`);
  }
  if (params !== undefined) checkParams(params, `${field}.params`);
  return extension as AgentExtension;
}

/** A scheme and something after it, in characters that a header can carry. */
const ABSOLUTE_URI = /^[a-z][a-z0-9+.-]*:[\x21-\x7e]+$/i;

function checkUri(uri: unknown, field: string): void {
  if (typeof uri !== "string" || !ABSOLUTE_URI.test(uri) || !URL.canParse(uri)) {
    const given = JSON.stringify(uri) ?? String(uri);
    throw new TypeError(`${field} must be an absolute URI such as https://…/v1, not ${given}`);
  }
  if (uri.includes(",")) {
    throw new TypeError(`${field} must not have a comma, which callers could not send: ${uri}`);
  }
  if (uri.length > MAX_URI_LENGTH) {
    throw new TypeError(`${field} must not be longer than ${MAX_URI_LENGTH} characters`);
  }
}

/** A card is JSON, and one that is signed has one spelling only. */
function checkParams(params: unknown, field: string): void {
  if (typeof params !== "object" || params === null || Array.isArray(params)) {
    throw new TypeError(`${field} must be an object`);
  }
  try {
    canonicalJson(params);
  } catch (error) {
    throw new TypeError(`${field} must be JSON: ${(error as Error).message}`, { cause: error });
  }
}
