import type { Agent, AgentTool } from "@convoke/protocol";

/** An agent of this process: what `defineAgent` makes. */
export type RegisteredAgent = Pick<Agent, "id" | "info" | "tools">;

/** The registrations of this process, in declared order. An agent may be served more than once. */
const REGISTRATIONS = new Set<{ readonly agent: RegisteredAgent }>();

/**
 * Adds an agent to this process: its tools are skills on the card of the process, in the order of
 * registration, and the default set of agents in a database. The first one gives the card its name.
 * `serve` and `mount` do it. Returns a function that removes the agent.
 */
export function registerAgent(agent: RegisteredAgent): () => void {
  const registration = { agent };
  REGISTRATIONS.add(registration);
  return () => void REGISTRATIONS.delete(registration);
}

/** The agents of this process, in declared order. */
export function registeredAgents(): readonly RegisteredAgent[] {
  return [...new Set([...REGISTRATIONS].map(({ agent }) => agent))];
}

/** The tools of all agents of this process, in declared order. */
export function registeredTools(): readonly AgentTool[] {
  const tools = new Map<string, AgentTool>();
  for (const tool of registeredAgents().flatMap((agent) => agent.tools?.() ?? [])) {
    if (!tools.has(tool.name)) tools.set(tool.name, tool);
  }
  return [...tools.values()];
}
