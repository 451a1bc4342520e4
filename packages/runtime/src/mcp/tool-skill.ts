import type { AgentSkill } from "@convoke/protocol";
import type { Tool } from "../tools/tool.ts";

const MAX_NAME = 100;
const MAX_DESCRIPTION = 500;

/** Where a tool comes from. */
export interface ToolOrigin {
  readonly server: string;
  /** What the server itself calls it. */
  readonly ownName: string;
}

/**
 * A tool of a server as a skill on a card. Its id is the name by which the model
 * knows it; the rest is for people, and shorter than what the model reads.
 */
export function toolSkill(
  { name, description }: Pick<Tool, "name" | "description">,
  { server, ownName }: ToolOrigin,
): AgentSkill {
  const readable = bounded(readableName(ownName), MAX_NAME) || name;
  const [paragraph = ""] = description.trim().split(/\n\s*\n/);
  return {
    id: name,
    name: readable,
    description: bounded(oneLine(paragraph), MAX_DESCRIPTION) || readable,
    tags: ["mcp", server],
  };
}

/** `read_text_file` and `readTextFile` are "Read text file"; what is all capitals, such as URL, stays. */
function readableName(name: string): string {
  const words = name
    .replaceAll(/(\p{Ll}|\d)(\p{Lu})/gu, "$1 $2")
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
    .replaceAll(/[_\-./:]+/g, " ");
  const lowered = oneLine(words).replaceAll(/\p{Lu}\p{Ll}+/gu, (word) => word.toLowerCase());
  return lowered.replace(/^\p{Ll}/u, (letter) => letter.toUpperCase());
}

function oneLine(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
}

/** Never half a character: no card with one could be signed. */
function bounded(text: string, max: number): string {
  const cut =
    text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
  return cut.toWellFormed();
}
