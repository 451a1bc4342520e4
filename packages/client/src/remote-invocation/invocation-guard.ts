import { trustProblem } from "./agent-trust.ts";
import type { BudgetRefusal } from "./invocation-budget.ts";
import type { InvokeOptions } from "./invoke-options.ts";

/** Why a call was not made, for the operator. */
export interface InvocationRefusal {
  readonly reason: BudgetRefusal["reason"] | "depth" | "trust";
  readonly detail: string;
  readonly agent: string;
}

/** How long a chain of agents may be, unless the caller says otherwise. */
export const MAX_DEPTH = 3;

/**
 * All that a model learns of a refusal. Who knows the rule that stopped it would
 * look for a way around it.
 */
export const REFUSED = "Remote agent invocation is temporarily unavailable. Try again later.";

/** Whether the call may be made; when it may, it is taken from the budget. */
export async function refusalOf(
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
