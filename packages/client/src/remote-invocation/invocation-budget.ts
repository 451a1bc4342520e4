import { ValidationError } from "./errors.ts";

export interface InvocationBudgetOptions {
  /** How many calls a session may make; by default 10. */
  readonly maxCalls?: number | undefined;
  /** How many different agents it may call; by default 3. */
  readonly maxAgents?: number | undefined;
  /** How long an agent is left alone after a call; by default 5 seconds. */
  readonly cooldownMs?: number | undefined;
  /** For tests; by default the time of this machine. */
  readonly now?: (() => number) | undefined;
}

/** Which rule a call would break, for the operator. */
export interface BudgetRefusal {
  readonly reason: "call-limit" | "agent-limit" | "cooldown";
  readonly detail: string;
}

/** How much a session may still ask of other agents. Make one for each session. */
export interface InvocationBudget {
  /** Takes one call, at once and whatever becomes of it; or says why not, and takes nothing. */
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
