/** One of our own extensions. */
interface ExtensionRow {
  /** A breaking change is a new URI: who asks for this one never gets another. */
  readonly uri: string;
  /** The number at the end of the URI. */
  readonly version: number;
  readonly description: string;
}

/** Our own extensions of A2A; `docs/extensions` has a page for each. */
export const EXTENSIONS = {
  resumption: {
    uri: "https://convoke.dev/extensions/resumption/v1",
    version: 1,
    description: "A stream that was cut goes on exactly after the last event that was read.",
  },
  idempotency: {
    uri: "https://convoke.dev/extensions/idempotency/v1",
    version: 1,
    description: "A message that is sent again with its messageId is worked on once.",
  },
  skill: {
    uri: "https://convoke.dev/extensions/skill/v1",
    version: 1,
    description: "A message names the skill that it is for.",
  },
  clientTools: {
    uri: "https://convoke.dev/extensions/client-tools/v1",
    version: 1,
    description: "The agent uses tools that its caller declares and runs.",
  },
  approvals: {
    uri: "https://convoke.dev/extensions/approvals/v1",
    version: 1,
    description: "Tool calls wait for a decision that is bound to their arguments.",
  },
  budget: {
    uri: "https://convoke.dev/extensions/budget/v1",
    version: 1,
    description: "Limits of tokens, cost, time and depth travel to sub-agents, and usage back.",
  },
} as const satisfies Record<string, ExtensionRow>;

export type ExtensionName = keyof typeof EXTENSIONS;
