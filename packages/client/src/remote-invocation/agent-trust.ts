/** How much an agent is trusted, the least first. */
const LEVELS = ["untrusted", "low", "medium", "high", "verified"] as const;

export type TrustLevel = (typeof LEVELS)[number];

/** What is known of agents, and how much of it a call demands. */
export interface AgentTrust {
  /** Of the agent at this address; one that is "blacklisted" is never called. */
  readonly of: (agent: string) => TrustLevel | "blacklisted" | Promise<TrustLevel | "blacklisted">;
  /** By default "low". */
  readonly atLeast?: TrustLevel | undefined;
}

/** Why the agent is not trusted enough, for the operator. When nobody can say, it is not. */
export async function trustProblem(
  { of, atLeast = "low" }: AgentTrust,
  agent: string,
): Promise<string | undefined> {
  try {
    const level = await of(agent);
    if (level === "blacklisted") return `${agent} is blacklisted`;
    if (LEVELS.indexOf(level) >= LEVELS.indexOf(atLeast)) return undefined;
    return `the trust in ${agent} is ${level}, and ${atLeast} is demanded`;
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return `the trust in ${agent} could not be found out: ${problem}`;
  }
}
