import type { InvokeOptions } from "./invocation.ts";
import { ValidationError } from "./errors.ts";

/** Why a call was refused, for the operator. */
export interface InvocationRefusal {
  readonly reason: BudgetRefusal["reason"] | "depth" | "trust" | "source";
  readonly detail: string;
  readonly agent: string;
}

/** Default maximum length of a chain of agents. */
export const MAX_DEPTH = 3;

/**
 * All that a model learns about a refusal. A model that knows the rule would look for a way around it.
 */
export const REFUSED = "Remote agent invocation is temporarily unavailable. Try again later.";

/** Why the call is refused, or `undefined`; a permitted call is deducted from the budget. */
export async function checkInvocation(
  agent: string,
  { depth = 1, maxDepth = MAX_DEPTH, trust, budget }: InvokeOptions,
): Promise<InvocationRefusal | undefined> {
  if (depth > maxDepth) {
    const detail = `the call would be number ${depth} in a chain of agents that may be ${maxDepth} long`;
    return { reason: "depth", detail, agent };
  }
  const problem = trust && (await trustProblem(trust, agent));
  if (problem !== undefined) return { reason: "trust", detail: problem, agent };
  const refused = budget?.take(agent);
  return refused && { ...refused, agent };
}

/** Trust levels, the lowest first. */
export const TRUST_LEVELS = ["untrusted", "low", "medium", "high", "verified"] as const;

export type TrustLevel = (typeof TRUST_LEVELS)[number];

/** The trust in agents, and how much of it a call requires. */
export interface AgentTrust {
  /** The trust in the agent at this URL; a "blacklisted" agent is never called. */
  readonly of: (agent: string) => TrustLevel | "blacklisted" | Promise<TrustLevel | "blacklisted">;
  /** The required level; default "low". */
  readonly atLeast?: TrustLevel | undefined;
}

/** Why the agent is not trusted enough, for the operator. If the lookup fails, it is not trusted. */
async function trustProblem(
  { of, atLeast = "low" }: AgentTrust,
  agent: string,
): Promise<string | undefined> {
  try {
    const level = await of(agent);
    if (level === "blacklisted") return `${agent} is blacklisted`;
    if (TRUST_LEVELS.indexOf(level) >= TRUST_LEVELS.indexOf(atLeast)) return undefined;
    return `the trust in ${agent} is ${level}, and ${atLeast} is demanded`;
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return `the trust in ${agent} could not be found out: ${problem}`;
  }
}

export interface InvocationBudgetOptions {
  /** Maximum number of calls of a session; default 10. */
  readonly maxCalls?: number | undefined;
  /** Maximum number of different agents; default 3. */
  readonly maxAgents?: number | undefined;
  /** Minimum time between two calls of the same agent, in milliseconds; default 5 s. */
  readonly cooldownMs?: number | undefined;
  /** For tests. Default: the system clock. */
  readonly now?: (() => number) | undefined;
}

/** Which rule a call would break, for the operator. */
interface BudgetRefusal {
  readonly reason: "call-limit" | "agent-limit" | "cooldown";
  readonly detail: string;
}

/** How many calls a session may still make. Create one per session. */
export interface InvocationBudget {
  /** Deducts one call, whatever its result; or returns why it is refused, and deducts nothing. */
  take(agent: string): BudgetRefusal | undefined;
  readonly callsMade: number;
  readonly agentsCalled: number;
}

export function createInvocationBudget(options: InvocationBudgetOptions = {}): InvocationBudget {
  const { maxCalls = 10, maxAgents = 3, cooldownMs = 5000, now = Date.now } = options;
  refuseUnlessCount({ maxCalls, maxAgents, cooldownMs });
  const lastCalls = new Map<string, number>();
  let calls = 0;

  function refusal(agent: string): BudgetRefusal | undefined {
    if (calls >= maxCalls) {
      return { reason: "call-limit", detail: `the session has made its ${maxCalls} calls` };
    }
    const last = lastCalls.get(agent);
    if (last === undefined) {
      if (lastCalls.size < maxAgents) return undefined;
      return {
        reason: "agent-limit",
        detail: `the session has called its ${maxAgents} agents, and ${agent} is none of them`,
      };
    }
    const leftMs = cooldownMs - (now() - last);
    if (leftMs <= 0) return undefined;
    return {
      reason: "cooldown",
      detail: `${agent} was called just now; it may be called again in ${leftMs}ms`,
    };
  }

  return {
    take(agent) {
      const refused = refusal(agent);
      if (refused !== undefined) return refused;
      calls += 1;
      lastCalls.set(agent, now());
      return undefined;
    },
    get callsMade() {
      return calls;
    },
    get agentsCalled() {
      return lastCalls.size;
    },
  };
}

function refuseUnlessCount(options: Readonly<Record<string, number>>): void {
  for (const [field, value] of Object.entries(options)) {
    if (Number.isSafeInteger(value) && value >= 0) continue;
    throw new ValidationError(`${field} must be a whole number of at least 0, not ${value}`, {
      field,
    });
  }
}
