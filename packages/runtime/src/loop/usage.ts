import type { ModelPrice, ModelUsage } from "../models/model.ts";

/** What a task has used, as its last status says it. */
export interface Usage {
  readonly iterations: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Where the price of the model is known. */
  readonly cost?: number;
  readonly toolCalls: number;
  readonly durationMs: number;
}

/** Adds up what a task uses, replayed work included. */
export class UsageMeter {
  readonly #price: ModelPrice | undefined;
  iterations = 0;
  toolCalls = 0;
  #inputTokens = 0;
  #outputTokens = 0;
  #cost = 0;

  constructor(price: ModelPrice | undefined) {
    this.#price = price;
  }

  addAnswer(usage: ModelUsage): void {
    this.iterations += 1;
    this.#inputTokens += usage.inputTokens;
    this.#outputTokens += usage.outputTokens;
    if (this.#price !== undefined) this.#cost += costOf(usage, this.#price);
  }

  total(durationMs: number): Usage {
    return {
      iterations: this.iterations,
      inputTokens: this.#inputTokens,
      outputTokens: this.#outputTokens,
      // Without the noise of adding up fractions.
      ...(this.#price !== undefined && { cost: Number(this.#cost.toFixed(6)) }),
      toolCalls: this.toolCalls,
      durationMs,
    };
  }
}

function costOf(usage: ModelUsage, price: ModelPrice): number {
  const { inputTokens, outputTokens, cachedInputTokens = 0 } = usage;
  const { inputPerMillion, outputPerMillion, cachedInputPerMillion = inputPerMillion } = price;
  const input = (inputTokens - cachedInputTokens) * inputPerMillion;
  return (
    (input + cachedInputTokens * cachedInputPerMillion + outputTokens * outputPerMillion) / 1e6
  );
}
