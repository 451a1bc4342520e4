import { BUDGET_BOUNDS, type Budget, EXTENSIONS, type Metadata } from "@convoke/protocol";
import type { LoopScope } from "../loop/loop-scope.ts";

const { uri } = EXTENSIONS.budget;

/** What an agent that is called may use, or why it is not called. */
export type Handed =
  | { readonly metadata: Metadata; readonly refusal?: never }
  /** In words for the model. */
  | { readonly refusal: string; readonly metadata?: never };

/** What a call may use of what is left to its run, as the message to a sub-agent carries it. */
export function handedBudget(
  { budget, clock, usage, settings }: LoopScope,
  shareOf: (left: Budget) => Budget,
): Handed {
  const { depth, deadline } = budget;
  const visited = [...budget.visited, settings.identity.id];
  if (depth <= 0 || visited.length > BUDGET_BOUNDS.visited) {
    const chain = `it has come through ${visited.length} agents`;
    return {
      refusal: `Not called: this work may not be handed on any further (depth limit); ${chain}.`,
    };
  }
  const share = shareOf(budget.left(usage.total(clock.workedMs)));
  if (share.tokens === 0 || share.costUsd === 0) {
    return { refusal: "Not called: nothing is left of the budget for it." };
  }
  const handed: Budget = {
    ...share,
    ...(deadline !== undefined && { deadline }),
    depth: depth - 1,
    visited,
  };
  return { metadata: { [uri]: handed } };
}
