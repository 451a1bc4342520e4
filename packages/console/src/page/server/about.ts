import { signal } from "@preact/signals";
import { ask } from "./session.ts";

/** An agent of the server. */
export interface AgentSummary {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  readonly version?: string;
  /** Below the server's address, such as "/agents/greeter". Empty for the only agent. */
  readonly path: string;
}

/** What the console learns first: who the server is and what this visitor may see. */
export interface About {
  readonly version: string;
  readonly agents: readonly AgentSummary[];
  readonly caller: { readonly owner: string; readonly isOperator: boolean };
  readonly features: Readonly<Record<string, boolean>>;
}

/** Absent until it has been read. */
export const about = signal<About | undefined>(undefined);

export async function loadAbout(): Promise<void> {
  about.value = await ask<About>("/convoke/about");
}

/** The agent with an id, or the one at the root. */
export function findAgent(id: string | undefined): AgentSummary | undefined {
  const agents = about.value?.agents ?? [];
  return id === undefined ? agents[0] : agents.find((agent) => agent.id === id);
}
