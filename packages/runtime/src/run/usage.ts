import type { DelegatedUsage } from "../tools/tool.ts";
import type { ModelPrice, ModelUsage } from "../model/model.ts";

/** The usage of a task, as its final status reports it. */
export interface Usage {
  readonly iterations: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Present if the price of a model that answered is known. */
  readonly cost?: number;
  readonly toolCalls: number;
  readonly durationMs: number;
  /** The usage that sub-agents reported; their cost is already included in `cost`. */
  readonly subAgents?: DelegatedUsage;
}

/** Sums the usage of a task, including replayed work. */
export class UsageMeter {
  iterations = 0;
  toolCalls = 0;
  #inputTokens = 0;
  #outputTokens = 0;
  /** Undefined while no answer of a model with a price was counted. */
  #cost: number | undefined;
  #delegated: DelegatedUsage | undefined;

  /** `price` is that of the model that answered. */
  addAnswer(usage: ModelUsage, price: ModelPrice | undefined): void {
    this.iterations += 1;
    this.#inputTokens += usage.inputTokens;
    this.#outputTokens += usage.outputTokens;
    if (price !== undefined) this.#cost = (this.#cost ?? 0) + costOf(usage, price);
  }

  addDelegated(used: DelegatedUsage | undefined): void {
    this.#delegated = added(this.#delegated, used);
  }

  total(durationMs: number): Usage {
    const delegated = this.#delegated;
    const cost = (this.#cost ?? 0) + (delegated?.costUsd ?? 0);
    const isPriced = this.#cost !== undefined || delegated?.costUsd !== undefined;
    return {
      iterations: this.iterations,
      inputTokens: this.#inputTokens,
      outputTokens: this.#outputTokens,
      // Rounded to remove floating-point noise.
      ...(isPriced && { cost: Number(cost.toFixed(6)) }),
      toolCalls: this.toolCalls,
      durationMs,
      ...(delegated && { subAgents: delegated }),
    };
  }
}

/** Adds two usages, either of which may be unknown. */
export function added(
  one: DelegatedUsage | undefined,
  other: DelegatedUsage | undefined,
): DelegatedUsage | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const isPriced = one.costUsd !== undefined || other.costUsd !== undefined;
  return {
    calls: one.calls + other.calls,
    tokens: one.tokens + other.tokens,
    ...(isPriced && { costUsd: (one.costUsd ?? 0) + (other.costUsd ?? 0) }),
  };
}

export function costOf(usage: ModelUsage, price: ModelPrice): number {
  const { inputTokens, outputTokens, cachedInputTokens = 0 } = usage;
  const { inputPerMillion, outputPerMillion, cachedInputPerMillion = inputPerMillion } = price;
  const input = (inputTokens - cachedInputTokens) * inputPerMillion;
  return (
    (input + cachedInputTokens * cachedInputPerMillion + outputTokens * outputPerMillion) / 1e6
  );
}
