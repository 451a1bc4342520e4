import type { A2APart } from "@convoke/protocol";

/** A progress message; the task continues. */
export interface StatusOutput {
  readonly kind: "output:status";
  readonly text: string;
}

/** A result in addition to the answer. */
export interface ArtifactOutput {
  readonly kind: "output:artifact";
  readonly name: string;
  readonly part: A2APart;
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
  readonly state: "rejected" | "failed";
  readonly text: string;
}

/** What a function agent may yield or return in addition to text. */
export type FunctionOutput = StatusOutput | ArtifactOutput | ReplyOutput | EndOutput;

/** Tells the caller what the agent is doing. */
export function status(text: string): StatusOutput {
  return { kind: "output:status", text };
}

/**
 * Adds a result to the task: a string becomes text, bytes become a file, and anything else becomes
 * data. A second result with the same name replaces the first.
 */
export function artifact(
  name: string,
  content: unknown,
  options: { readonly description?: string; readonly mediaType?: string } = {},
): ArtifactOutput {
  const { description, mediaType } = options;
  const part = partOf(name, content, mediaType);
  return { kind: "output:artifact", name, part, ...(description && { description }) };
}

/**
 * Answers with one message. The agent must declare `replies: true`; otherwise this is the final
 * message of a task.
 */
export function reply(text: string): ReplyOutput {
  return { kind: "output:reply", text };
}

/** Rejects the task and gives the reason. */
export function reject(text: string): EndOutput {
  return { kind: "output:end", state: "rejected", text };
}

/** Ends the task as failed. The caller sees the text. */
export function fail(text: string): EndOutput {
  return { kind: "output:end", state: "failed", text };
}

function partOf(name: string, content: unknown, mediaType: string | undefined): A2APart {
  if (typeof content === "string") {
    return { kind: "text", text: content, ...(mediaType && { mediaType }) };
  }
  if (content instanceof Uint8Array) {
    const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
    const file = {
      name,
      ...(mediaType && { mimeType: mediaType }),
      bytes: bytes.toString("base64"),
    };
    return { kind: "file", file };
  }
  return { kind: "data", data: content, ...(mediaType && { mediaType }) };
}
