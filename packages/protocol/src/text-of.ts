import type { Message } from "./message.ts";
import type { A2APart } from "./part.ts";
import type { Task } from "./task.ts";

/** The text of some parts, joined. */
export function textOfParts(parts: readonly A2APart[]): string {
  return parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
}

/**
 * What an agent answered, as text: the artifacts, else the status message,
 * else its last message in the history.
 */
export function textOf(answer: Task | Message): string {
  if (answer.kind === "message") return textOfParts(answer.parts);
  const artifacts = (answer.artifacts ?? []).map(({ parts }) => textOfParts(parts));
  const text = artifacts.filter((part) => part !== "").join("\n");
  if (text !== "") return text;
  const last = answer.status.message ?? answer.history?.findLast(({ role }) => role === "agent");
  return last === undefined ? "" : textOfParts(last.parts);
}
