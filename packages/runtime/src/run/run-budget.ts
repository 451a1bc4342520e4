import {
  BUDGET_BOUNDS,
  type BudgetLimit,
  type Budget as BudgetOfMessage,
  EXTENSIONS,
  type Turn,
  budgetOf,
} from "@convoke/protocol";
import { nameInId } from "./agent-identity.ts";
import { type Budget, BudgetError, checkBudget } from "./budget.ts";
import type { Usage } from "./usage.ts";

const { uri } = EXTENSIONS.budget;

/** What came with the message leaves no room for any work. Its text is safe to show. */
export class BudgetRefusal extends Error {
  override readonly name = "BudgetRefusal";
  readonly limit: BudgetLimit;

  constructor(limit: BudgetLimit, text: string) {
    super(text);
    this.limit = limit;
  }
}

/** What one run may use: of each limit the smaller, the agent's own or what came with the message. */
export class RunBudget {
  readonly #own: Budget;
  readonly #given: BudgetOfMessage;
  readonly #limits: Budget;

  constructor(own: Budget, { message, extensions }: Pick<Turn, "message" | "extensions">) {
    this.#own = own;
    this.#given = (extensions.has(uri) ? budgetOf(message.metadata) : undefined) ?? {};
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

  /** How long work may go on from now, and what it ends with then. */
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
