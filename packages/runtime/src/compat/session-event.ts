import { isObject } from "@convoke/protocol/internal";

/** What an event of a session means for its task. */
export type SessionEvent =
  | { readonly kind: "text"; readonly text: string }
  /** The exit that follows a failure is not a success. */
  | { readonly kind: "failure" }
  | { readonly kind: "end" }
  | { readonly kind: "other" };

const OTHER: SessionEvent = { kind: "other" };

/** Reads an event of a process manager. An event of an unknown type is ignored. */
export function readSessionEvent(event: unknown): SessionEvent {
  if (!isObject(event)) return OTHER;
  switch (event["type"]) {
    case "assistant": {
      const message = isObject(event["message"]) ? event["message"] : event;
      const text = textIn(message["content"]);
      return text === "" ? OTHER : { kind: "text", text };
    }
    case "error":
    case "session_error":
      return { kind: "failure" };
    case "session_exited":
      return { kind: isCrash(event) ? "failure" : "end" };
    case "session_stopped":
      return { kind: "end" };
    default:
      return OTHER;
  }
}

/** The text of all blocks: a model may write some, call tools, and write more. */
function textIn(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((block: unknown) => (isObject(block) ? block["text"] : block))
    .filter((text) => typeof text === "string")
    .join("");
}

/** A process that ended by itself says so with the code 0 and no signal. */
function isCrash({ exitCode, code, signal }: Readonly<Record<string, unknown>>): boolean {
  const status = exitCode ?? code ?? 0;
  return (status !== 0 && status !== null) || (signal ?? null) !== null;
}
