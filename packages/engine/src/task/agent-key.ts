import type { Agent } from "@convoke/protocol";
import { agentIdFrom } from "@convoke/protocol/internal";
import type { TaskRecord } from "../log/backend.ts";

/** Says which stored tasks belong to an agent. */
export interface AgentKey {
  readonly id: string;
  /** The names the agent has or had, for tasks of versions in which agents had no id. */
  readonly names: readonly string[];
}

/** The key of an agent about which nothing is stored. */
export function agentKey({ id, info: { name } }: Pick<Agent, "id" | "info">): AgentKey {
  return { id: id ?? agentIdFrom(name), names: [name] };
}

/** Whether a stored task belongs to the agent. A display name decides only if the task has no id. */
export function isTaskOf(
  { id, names }: AgentKey,
  { agent, agentId }: Pick<TaskRecord, "agent" | "agentId">,
): boolean {
  if (agentId !== undefined) return agentId === id;
  return names.includes(agent) || agentIdFrom(agent) === id;
}

/** The id of the agent to which a stored task belongs. */
export function storedAgentId({ agent, agentId }: Pick<TaskRecord, "agent" | "agentId">): string {
  return agentId ?? agentIdFrom(agent);
}
