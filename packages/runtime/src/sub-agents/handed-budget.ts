import { type Budget, EXTENSIONS, type Metadata } from "@convoke/protocol";
import type { LoopScope } from "../loop/loop-scope.ts";

const { uri } = EXTENSIONS.budget;

/** The most that the extension can name. */
const MAX_VISITED = 64;

/** What an agent that is called may use, or why it is not called. */
export type Handed =
  | { readonly metadata: Metadata; readonly refusal?: never }
  /** In words for the model. */
  | { readonly refusal: string; readonly metadata?: never };

/** What is left of the budget of a run, as the message to a sub-agent carries it. */
export function handedBudget({ budget, clock, usage, settings }: LoopScope): Handed {
  const { depth, deadline } = budget;
  const visited = [...budget.visited, settings.identity.id];
  if (depth <= 0 || visited.length > MAX_VISITED) {
    const chain = `it has come through ${visited.length} agents`;
    return {
      refusal: `Not called: this work may not be handed on any further (depth limit); ${chain}.`,
    };
  }
  const handed: Budget = {
    ...budget.left(usage.total(clock.workedMs)),
    ...(deadline !== undefined && { deadline }),
    depth: depth - 1,
    visited,
  };
  return { metadata: { [uri]: handed } };
}
