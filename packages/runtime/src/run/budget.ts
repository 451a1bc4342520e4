import type { Usage } from "./usage.ts";

/** What one task may use; `Infinity` takes a limit away. */
export interface Budget {
  /** How often the model is asked, retries not counted. By default 50. */
  readonly iterations?: number;
  /** Tokens read and written, those of sub-agents included. By default ten million. */
  readonly tokens?: number;
  /** By the prices of the model. By default there is no limit. */
  readonly cost?: number;
  /** How long it may work, the time in which it waits for its caller not counted. By default six hours. */
  readonly timeMs?: number;
  /** By default there is no limit of their own. */
  readonly toolCalls?: number;
  /** How many rounds of tool calls in a row may fail altogether. By default 5. */
  readonly consecutiveFailures?: number;
  /** How often the work may be handed on: to a sub-agent, by that to another one, and so on. By default 8. */
  readonly depth?: number;
}

export type BudgetName = keyof Budget;

/** Far beyond what honest work needs: they end what runs away. */
const DEFAULT_BUDGET = {
  iterations: 50,
  tokens: 10_000_000,
  timeMs: 6 * 3_600_000,
  consecutiveFailures: 5,
  depth: 8,
} as const;

const NAMES: readonly BudgetName[] = [
  "iterations",
  "tokens",
  "cost",
  "timeMs",
  "toolCalls",
  "consecutiveFailures",
  "depth",
];

/** The task used more than it may. Its text is safe to show. */
export class BudgetError extends Error {
  override readonly name = "BudgetError";
  readonly budget: BudgetName | "deadline";

  constructor(budget: BudgetName | "deadline", most: number | string, used: number | string) {
    super(`The agent reached its budget: ${budget} is limited to ${most}, and ${used} was used.`);
    this.budget = budget;
  }
}

/** A budget that makes no sense is a mistake of whoever defines the agent. */
export function budgetOf(given: Budget = {}): Budget {
  for (const [name, most] of Object.entries(given) as [BudgetName, number | undefined][]) {
    if (!NAMES.includes(name)) {
      throw new TypeError(`budget.${name} is unknown; there are ${NAMES.join(", ")}`);
    }
    if (most !== undefined && !(most > 0)) {
      throw new TypeError(`budget.${name} must be a number above 0, not ${most}`);
    }
  }
  return { ...DEFAULT_BUDGET, ...given };
}

/** Throws when the next iteration would be beyond the budget. */
export function checkBudget(budget: Budget, usage: Usage, consecutiveFailures: number): void {
  const { inputTokens, outputTokens, iterations, toolCalls, cost = 0, durationMs } = usage;
  const used: Record<Exclude<BudgetName, "depth">, number> = {
    iterations,
    tokens: inputTokens + outputTokens + (usage.subAgents?.tokens ?? 0),
    cost,
    timeMs: durationMs,
    toolCalls,
    consecutiveFailures,
  };
  for (const name of Object.keys(used) as (keyof typeof used)[]) {
    const most = budget[name];
    if (most !== undefined && used[name] >= most) throw new BudgetError(name, most, used[name]);
  }
}
