import type { Budget } from "@convoke/protocol";
import type { ChildCall } from "./child-call.ts";

/** What is counted, and can be shared. */
type Amounts = Pick<Budget, "tokens" | "costUsd">;

/**
 * What one call may use, of several that the model made at the same time: what the others were
 * promised is theirs, and what nobody has yet is shared by those who still wait, this one included.
 * What a call did not need is there for the next.
 */
export function budgetShare(left: Amounts, others: readonly ChildCall[], waiting: number): Amounts {
  const share = (most: number, name: keyof Amounts): number => {
    const taken = others.reduce((sum, { claim }) => sum + (claim[name] ?? 0), 0);
    return Math.max(0, most - taken) / waiting;
  };
  const { tokens, costUsd } = left;
  return {
    ...(tokens !== undefined && { tokens: Math.floor(share(tokens, "tokens")) }),
    ...(costUsd !== undefined && { costUsd: share(costUsd, "costUsd") }),
  };
}
