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

/** The whole answer as one message, without a task where the caller allows it. */
export interface ReplyOutput {
  readonly kind: "output:reply";
  readonly text: string;
}

/** Ends the task, with the agent's own text. */
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
 * Hands over a result: a string is text, bytes are a file, anything else is
 * data. The same name again replaces the earlier one.
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

/** Answers with one message. The agent declares `replies: true`; otherwise it is a task's last word. */
export function reply(text: string): ReplyOutput {
  return { kind: "output:reply", text };
}

/** Refuses the task, and says why. */
export function reject(text: string): EndOutput {
  return { kind: "output:end", state: "rejected", text };
}

/** Ends the task as failed, with a text that the caller may read. */
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
