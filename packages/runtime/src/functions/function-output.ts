import type { A2APart } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import { remember } from "./scope.ts";

/** A progress message; the task continues. */
export interface StatusOutput {
  readonly kind: "output:status";
  readonly text: string;
}

/** A result in addition to the answer. */
export interface ArtifactOutput {
  readonly kind: "output:artifact";
  readonly name: string;
  readonly parts: readonly A2APart[];
  readonly description?: string;
}

/** The whole answer as one message, without a task if the caller allows it. */
export interface ReplyOutput {
  readonly kind: "output:reply";
  readonly text: string;
}

/** Ends the task with a text from the agent. */
export interface EndOutput {
  readonly kind: "output:end";
  readonly state: "completed" | "rejected" | "failed";
  readonly text: string;
}

/** What a function agent may yield or return in addition to text. */
export type FunctionOutput = StatusOutput | ArtifactOutput | ReplyOutput | EndOutput;

/** Tells the caller what the agent is doing. */
export function status(text: string): StatusOutput {
  return remember({ kind: "output:status", text }, "status");
}

export interface ArtifactOptions {
  readonly description?: string;
  /** The media type of the content, such as `text/csv`. Default: none. */
  readonly mediaType?: string;
}

/**
 * Adds a result to the task. A string becomes text, bytes become a file, a `URL` becomes a file at
 * that address, and anything else becomes data. A list of A2A parts, such as
 * `[textPart("Sales"), { kind: "file", file: { uri } }]`, becomes one result of several parts. A second result with the same name replaces the first.
 */
export function artifact(
  name: string,
  content: unknown,
  options: ArtifactOptions = {},
): ArtifactOutput {
  const { description, mediaType } = options;
  const parts = isPartList(content) ? content : [partOf(name, content, mediaType)];
  return remember(
    { kind: "output:artifact", name, parts, ...(description && { description }) },
    "artifact",
  );
}

/**
 * Answers with one message. The agent must declare `replies: true`; otherwise this is the final
 * message of a task.
 */
export function reply(text: string): ReplyOutput {
  return remember({ kind: "output:reply", text }, "reply");
}

/**
 * Ends the task as completed, with a text in its last status. Clients that join the answer and the
 * last status show both, so do not repeat the answer.
 */
export function complete(text: string): EndOutput {
  return remember({ kind: "output:end", state: "completed", text }, "complete");
}

/** Rejects the task and gives the reason. */
export function reject(text: string): EndOutput {
  return remember({ kind: "output:end", state: "rejected", text }, "reject");
}

/** Ends the task as failed. The caller sees the text. */
export function fail(text: string): EndOutput {
  return remember({ kind: "output:end", state: "failed", text }, "fail");
}

/** A list of parts: each of them names its kind and has its content. */
function isPartList(content: unknown): content is readonly A2APart[] {
  return Array.isArray(content) && content.length > 0 && content.every(isPart);
}

function isPart(value: unknown): value is A2APart {
  if (!isObject(value)) return false;
  const { kind } = value;
  return (kind === "text" || kind === "file" || kind === "data") && kind in value;
}

function partOf(name: string, content: unknown, mediaType: string | undefined): A2APart {
  if (typeof content === "string") {
    return { kind: "text", text: content, ...(mediaType && { mediaType }) };
  }
  const mimeType = mediaType && { mimeType: mediaType };
  if (content instanceof URL)
    return { kind: "file", file: { name, ...mimeType, uri: content.href } };
  if (content instanceof Uint8Array) {
    const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
    return { kind: "file", file: { name, ...mimeType, bytes: bytes.toString("base64") } };
  }
  return { kind: "data", data: content, ...(mediaType && { mediaType }) };
}
