import type { Usage } from "./usage.ts";
import {
  type AgentEnvironment,
  BUDGET_BOUNDS,
  type BudgetLimit,
  type Budget as BudgetOfMessage,
  EXTENSIONS,
  type Turn,
  readBudget,
} from "@convoke/protocol";
import { randomUUID } from "node:crypto";

/** What one task may use. `Infinity` removes a limit. */
export interface Budget {
  /** Model calls, not counting retries. Default 50. */
  readonly iterations?: number;
  /** Input and output tokens, including those of sub-agents. Default ten million. */
  readonly tokens?: number;
  /** Cost by the prices of the model. Default: no limit. */
  readonly cost?: number;
  /** Working time, not counting time spent waiting for the caller. Default six hours. */
  readonly timeMs?: number;
  /** Tool calls. Default: no limit. */
  readonly toolCalls?: number;
  /** How many consecutive rounds of tool calls may fail completely. Default 5. */
  readonly consecutiveFailures?: number;
  /** How many times the work may be delegated: to a sub-agent, from there to another one, and so on. Default 8. */
  readonly depth?: number;
}

export type BudgetName = keyof Budget;

/** Thrown when a task exceeds its budget. The message is safe to show. */
export class BudgetError extends Error {
  override readonly name = "BudgetError";
  readonly budget: BudgetName | "deadline";

  constructor(budget: BudgetName | "deadline", most: number | string, used: number | string) {
    super(`The agent reached its budget: ${budget} is limited to ${most}, and ${used} was used.`);
    this.budget = budget;
  }
}

const NAMES: readonly BudgetName[] = [
  "iterations",
  "tokens",
  "cost",
  "timeMs",
  "toolCalls",
  "consecutiveFailures",
  "depth",
];

/** Far beyond what normal work needs: they stop runaway tasks. */
const DEFAULT_BUDGET = {
  iterations: 50,
  tokens: 10_000_000,
  timeMs: 6 * 3_600_000,
  consecutiveFailures: 5,
  depth: 8,
} as const;

/** Adds the defaults. Throws for a budget that makes no sense. */
export function resolveBudget(given: Budget = {}): Budget {
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

/** Throws if the next iteration would exceed the budget. */
function checkBudget(budget: Budget, usage: Usage, consecutiveFailures: number): void {
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

/** The id of an agent in the chain of agents that a piece of work has passed through. */
export class AgentIdentity {
  #id: string;

  constructor(name: string) {
    this.#id = `${name}/${randomUUID()}`;
  }

  get id(): string {
    return this.#id;
  }

  /** Uses the id from the environment, which stays the same across restarts of a server. */
  prepare({ id }: AgentEnvironment): void {
    if (id !== undefined) this.#id = id;
  }
}

/** The readable name at the start of an agent id. */
function nameInId(id: string): string {
  return id.split("/")[0] ?? id;
}

/**
 * Thrown if the budget sent with the message leaves no room for any work. The message is safe to
 * show.
 */
export class BudgetRefusal extends Error {
  override readonly name = "BudgetRefusal";
  readonly limit: BudgetLimit;

  constructor(limit: BudgetLimit, text: string) {
    super(text);
    this.limit = limit;
  }
}

const { uri } = EXTENSIONS.budget;

/**
 * The limits of one run: for each, the smaller of the agent's own and the one sent with the
 * message.
 */
export class RunBudget {
  readonly #own: Budget;
  readonly #given: BudgetOfMessage;
  readonly #limits: Budget;

  constructor(own: Budget, { message, extensions }: Pick<Turn, "message" | "extensions">) {
    this.#own = own;
    this.#given = (extensions.has(uri) ? readBudget(message.metadata) : undefined) ?? {};
    this.#limits = {
      ...own,
      ...smaller("tokens", own.tokens, this.#given.tokens),
      ...smaller("cost", own.cost, this.#given.costUsd),
    };
  }

  /** How many more times the work may be delegated. */
  get depth(): number {
    const { depth: most } = BUDGET_BOUNDS;
    return Math.min(this.#own.depth ?? 0, this.#given.depth ?? most, most);
  }

  /** The ids of the agents that this work has already passed through. */
  get visited(): readonly string[] {
    return this.#given.visited ?? [];
  }

  /** The deadline, exactly as it was received. */
  get deadline(): string | undefined {
    return this.#given.deadline;
  }

  /** The remaining tokens and cost; a field is absent if there is no limit. */
  left({ inputTokens, outputTokens, cost = 0, subAgents }: Usage): BudgetOfMessage {
    const { tokens: mostTokens, cost: mostCost } = this.#limits;
    const tokens = inputTokens + outputTokens + (subAgents?.tokens ?? 0);
    return {
      ...(isLimit(mostTokens) && { tokens: Math.max(0, mostTokens - tokens) }),
      ...(isLimit(mostCost) && { costUsd: Math.max(0, mostCost - cost) }),
    };
  }

  /** Rejects work whose budget is already used up, or that returns to an agent it came from. */
  admit(
    self: string,
    { allowsCycles, now }: { readonly allowsCycles: boolean; readonly now: Date },
  ): void {
    const { tokens, costUsd, deadline } = this.#given;
    if (this.visited.includes(self) && !allowsCycles) {
      const chain = [...this.visited, self].map(nameInId).join(" → ");
      throw new BudgetRefusal("cycle", `The work has come back to where it was: ${chain}.`);
    }
    const nothing = "There is nothing left of the budget that came with the message";
    if (tokens === 0) throw new BudgetRefusal("tokens", `${nothing}: tokens is 0.`);
    if (costUsd === 0) throw new BudgetRefusal("cost", `${nothing}: costUsd is 0.`);
    if (deadline !== undefined && Date.parse(deadline) <= now.getTime()) {
      throw new BudgetRefusal("deadline", `The deadline of the message was ${deadline}.`);
    }
  }

  /** Throws if the next iteration would exceed a limit or the deadline has passed. */
  check(usage: Usage, consecutiveFailures: number, now: Date): void {
    checkBudget(this.#limits, usage, consecutiveFailures);
    if (this.deadline !== undefined && Date.parse(this.deadline) <= now.getTime()) {
      throw this.#late(this.deadline);
    }
  }

  /** How long work may continue from now, and the error that ends it then. */
  end(workedMs: number, now: Date): { readonly inMs: number; readonly error: Error } | undefined {
    const { timeMs } = this.#limits;
    const ends = [];
    if (timeMs !== undefined) {
      ends.push({ inMs: timeMs - workedMs, error: new BudgetError("timeMs", timeMs, timeMs) });
    }
    if (this.deadline !== undefined) {
      const inMs = Date.parse(this.deadline) - now.getTime();
      ends.push({ inMs, error: this.#late(this.deadline) });
    }
    ends.sort((one, other) => one.inMs - other.inMs);
    return ends[0] && { ...ends[0], inMs: Math.max(0, ends[0].inMs) };
  }

  #late(deadline: string): BudgetError {
    return new BudgetError("deadline", deadline, "more time");
  }
}

/** Infinity means no limit, and JSON cannot represent it. */
function isLimit(most: number | undefined): most is number {
  return most !== undefined && Number.isFinite(most);
}

function smaller<Name extends string>(
  name: Name,
  own: number | undefined,
  given: number | undefined,
): Partial<Record<Name, number>> {
  if (own === undefined && given === undefined) return {};
  const most = Math.min(own ?? Number.POSITIVE_INFINITY, given ?? Number.POSITIVE_INFINITY);
  return { [name]: most } as Partial<Record<Name, number>>;
}
