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
  /** How long it may work, not counting the time in which it waits for its caller. Default six hours. */
  readonly timeMs?: number;
  /** Tool calls. Default: no limit. */
  readonly toolCalls?: number;
  /** How many consecutive rounds of tool calls may fail completely. Default 5. */
  readonly consecutiveFailures?: number;
  /** How many times the work may be delegated: to a sub-agent, from there to another one, and so on. Default 8. */
  readonly depth?: number;
}

export type BudgetName = keyof Budget;

/** The task used more than it may. Its text is safe to show. */
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

/** Throws when the next iteration would be beyond the budget. */
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

  /** Where an agent is served, it is the same after a restart. */
  prepare({ id }: AgentEnvironment): void {
    if (id !== undefined) this.#id = id;
  }
}

/** The name in an id, for people. */
function nameInId(id: string): string {
  return id.split("/")[0] ?? id;
}

/** What came with the message leaves no room for any work. Its text is safe to show. */
export class BudgetRefusal extends Error {
  override readonly name = "BudgetRefusal";
  readonly limit: BudgetLimit;

  constructor(limit: BudgetLimit, text: string) {
    super(text);
    this.limit = limit;
  }
}

const { uri } = EXTENSIONS.budget;

/** What one run may use: of each limit the smaller, the agent's own or what came with the message. */
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

  /** How often the work may still be handed on. */
  get depth(): number {
    const { depth: most } = BUDGET_BOUNDS;
    return Math.min(this.#own.depth ?? 0, this.#given.depth ?? most, most);
  }

  /** The agents that it has come through. */
  get visited(): readonly string[] {
    return this.#given.visited ?? [];
  }

  /** When it must be over, as it came. */
  get deadline(): string | undefined {
    return this.#given.deadline;
  }

  /** How many tokens are left, and how much money; nothing where there is no limit. */
  left({ inputTokens, outputTokens, cost = 0, subAgents }: Usage): BudgetOfMessage {
    const { tokens: mostTokens, cost: mostCost } = this.#limits;
    const tokens = inputTokens + outputTokens + (subAgents?.tokens ?? 0);
    return {
      ...(isLimit(mostTokens) && { tokens: Math.max(0, mostTokens - tokens) }),
      ...(isLimit(mostCost) && { costUsd: Math.max(0, mostCost - cost) }),
    };
  }

  /** Refuses work that has no room to begin with, or that comes back to an agent it came from. */
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

  /** Throws when the next iteration would be beyond it. */
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

/** Infinity is no limit, and has no place in JSON. */
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
