import type { RemoteSource } from "@convoke/protocol";
import { signal } from "@preact/signals";
import { SERVER_URL, ask } from "./session.ts";

/** An agent of the server. */
export interface AgentSummary {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly version: string;
  /** Where its card and its bindings begin, below the root of the server. */
  readonly path: string;
  readonly isEnabled: boolean;
  /** Whether it also answers at the root. */
  readonly isDefault: boolean;
  /** How many of its tasks run. For operators only. */
  readonly running?: number;
  /** The agent elsewhere that it forwards its tasks to. For operators only. */
  readonly remote?: RemoteSource;
}

/** What the console learns first: who the server is and what this visitor may see. */
export interface About {
  readonly version: string;
  readonly agents: readonly AgentSummary[];
  readonly caller: {
    readonly owner: string;
    readonly isOperator: boolean;
    /** Whether the tasks of all owners can be read, and not only the visitor's own. */
    readonly readsAllOwners: boolean;
    readonly isApprover: boolean;
  };
  readonly features: Readonly<Record<"agents" | "metrics" | "push" | "streaming", boolean>>;
}

/** Absent until it has been read. */
export const about = signal<About | undefined>(undefined);

export async function loadAbout(): Promise<void> {
  const read = await ask<About>("/convoke/about");
  about.value = { ...read, agents: read.agents.map(belowRoot) };
}

/** The server names whole paths, but those of requests begin at the path that it is mounted at. */
function belowRoot(agent: AgentSummary): AgentSummary {
  return { ...agent, path: agent.path.slice(SERVER_URL.pathname.length - 1) };
}

/** The agent with an id, or the one at the root. */
export function findAgent(id: string | undefined): AgentSummary | undefined {
  const agents = about.value?.agents ?? [];
  return id === undefined
    ? agents.find(({ isDefault }) => isDefault)
    : agents.find((agent) => agent.id === id);
}
