import { type AgentDefinition, defineAgent } from "convoke";
import type { AgentExtension } from "@convoke/protocol";

export const FORMAL = "https://example.com/extensions/formality/v1";
export const FORMAL_NEXT = "https://example.com/extensions/formality/v2";
export const UNKNOWN = "urn:example:nobody-has-this";

export const DECLARED: readonly AgentExtension[] = [
  { uri: FORMAL, description: "How formal.", params: { levels: ["formal", "informal"] } },
];

/**
 * Reports what its turn knows about extensions and what came with its message; `ask` makes it ask
 * first.
 */
export function extensionAgent(more: Partial<AgentDefinition> = {}) {
  return defineAgent({
    name: "Echo",
    description: "Tells what it was told.",
    extensions: DECLARED,
    skills: ["translate", "summarize"].map((id) => ({ id, name: id, description: id, tags: [] })),
    async run({ text, message, extensions, skill, ask, artifact }) {
      if (text === "ask") await ask("well?");
      const { metadata = {}, extensions: written = [] } = message;
      return artifact("seen", { active: [...extensions], skill, metadata, written });
    },
    ...more,
  });
}

/** What the agent saw. */
export interface Seen {
  readonly active: readonly string[];
  readonly skill?: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly written: readonly string[];
}
