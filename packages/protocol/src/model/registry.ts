/** A skill of a registered agent, as its card describes it. */
export interface RegisteredSkill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
}

/** What the health checks of a registered agent have found. Times are in ISO 8601. */
export interface AgentHealth {
  /** Whether its card could be read at the last check. "unknown" before the first one. */
  readonly state: "up" | "down" | "unknown";
  /** How many checks were made. Old ones count less and less, so it is bounded. */
  readonly checks: number;
  /** How many of them succeeded. */
  readonly answered: number;
  /** How many checks have failed since the last one that succeeded. */
  readonly failures: number;
  readonly checkedAt?: string;
  /** The last check that succeeded. */
  readonly lastSeenAt?: string;
  /** How long the last check that succeeded took. */
  readonly latencyMs?: number;
  /** Why the last check failed. */
  readonly problem?: string;
}

/** How calls of an agent ended, as its callers have reported it. */
export interface CallCounts {
  readonly succeeded: number;
  readonly failed: number;
}

/** An agent in the registry of a server. Times are in ISO 8601. */
export interface RegistryEntry {
  readonly id: string;
  /** The base URL of the agent. */
  readonly url: string;
  readonly cardUrl: string;
  /** The name that it was registered with; by default the name on its card. */
  readonly name: string;
  readonly description: string;
  /** The tags that it was registered with. Its skills have their own. */
  readonly tags: readonly string[];
  readonly skills: readonly RegisteredSkill[];
  readonly registeredAt: string;
  /** The last registration or heartbeat. */
  readonly heartbeatAt: string;
  /** "inactive" if it has sent no heartbeat for a while. */
  readonly state: "active" | "inactive";
  /** How many tasks it was working on at the last heartbeat that says so. */
  readonly openTasks?: number;
  readonly health: AgentHealth;
  readonly calls: CallCounts;
}

/** What an agent must be able to do. Everything that is given must match. Case does not matter. */
export interface CapabilityQuery {
  /** The id or the name of a skill. */
  readonly skill?: string | undefined;
  /** Each must be a tag of the agent or of one of its skills. */
  readonly tags?: readonly string[] | undefined;
  /** Each word must occur in the names, descriptions or tags of the agent and its skills. */
  readonly text?: string | undefined;
}

type Capabilities = Pick<RegistryEntry, "name" | "description" | "tags" | "skills">;

/** Explains why an agent does not match a query. Returns `undefined` if it matches. */
export function capabilityMismatch(
  agent: Capabilities,
  { skill, tags = [], text = "" }: CapabilityQuery,
): string | undefined {
  const { skills } = agent;
  if (skill !== undefined && !skills.some(({ id, name }) => same(id, skill) || same(name, skill))) {
    return `it has no skill ${JSON.stringify(skill)}`;
  }
  const own = [...agent.tags, ...skills.flatMap((one) => one.tags)];
  const missing = tags.find((tag) => !own.some((one) => same(one, tag)));
  if (missing !== undefined) return `it has no tag ${JSON.stringify(missing)}`;
  const described = [
    agent.name,
    agent.description,
    ...own,
    ...skills.flatMap((one) => [one.id, one.name, one.description]),
  ];
  const words = folded(text).split(/\s+/);
  const unknown = words.find((word) => !described.some((one) => folded(one).includes(word)));
  return unknown === undefined ? undefined : `nothing about it contains ${JSON.stringify(unknown)}`;
}

function same(one: string, other: string): boolean {
  return folded(one) === folded(other);
}

function folded(text: string): string {
  return text.trim().toLowerCase();
}
