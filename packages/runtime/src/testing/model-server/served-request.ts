import type { IncomingHttpHeaders } from "node:http";
import type { WireFormat } from "./wire.ts";

/** A request that the scripted model server received. */
export interface ServedRequest {
  /** Counted from 1. */
  readonly number: number;
  readonly format: WireFormat;
  /** Includes the query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
  /** The text of the last user message. */
  readonly text: string;
  /** Whether the answer is still being written. */
  readonly isOpen: boolean;
  /** Whether the client closed the connection before the answer was complete. */
  readonly closedEarly: boolean;
  /** Resolves when the answer is complete or the connection is closed. */
  readonly closed: Promise<void>;
}

/** The text of the last user message, in any of the formats. */
export function askedText(body: Readonly<Record<string, unknown>>): string {
  const list = [body["messages"], body["input"], body["contents"]].find(Array.isArray) ?? [];
  const texts = (list as readonly Entry[])
    .filter(({ role }) => role === "user")
    .map(({ content, parts }) => textOf(content ?? parts))
    .filter((text) => text !== "");
  return texts.at(-1) ?? "";
}

interface Entry {
  readonly role?: unknown;
  readonly content?: unknown;
  readonly parts?: unknown;
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return (content as readonly { readonly text?: unknown }[])
    .map(({ text }) => (typeof text === "string" ? text : ""))
    .join("");
}
