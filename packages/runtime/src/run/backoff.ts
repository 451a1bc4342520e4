import { createHash } from "node:crypto";

const MAX_MS = 30_000;

/** How often a model is asked at most, and how long a loop waits for a provider that says when to come back. */
export interface RetryRule {
  /** By default 4, the first included. */
  readonly attempts: number;
  /** How long it waits after the first failure, at most; twice as long after each other. By default 500. */
  readonly firstWaitMs: number;
  /** By default a minute: who is told to wait longer gives up. */
  readonly maxWaitMs: number;
}

export const DEFAULT_RETRY: RetryRule = {
  attempts: 4,
  firstWaitMs: 500,
  maxWaitMs: 60_000,
};

/**
 * How long to wait after the n-th failure: twice as long each time, and spread,
 * so that many tasks do not come back at once. The spread depends on the task
 * alone, so that a run can be repeated exactly.
 */
export function backoffMs(
  failures: number,
  facts: {
    readonly firstWaitMs: number;
    readonly seed: string;
    readonly retryAfterMs: number | undefined;
  },
): number {
  const { firstWaitMs, seed, retryAfterMs } = facts;
  const longest = Math.min(MAX_MS, firstWaitMs * 2 ** (failures - 1));
  const waitMs = Math.round(longest * (0.5 + 0.5 * fractionOf(`${seed}:${failures}`)));
  return Math.max(waitMs, retryAfterMs ?? 0);
}

/** A number from 0 to 1 that a text stands for. */
function fractionOf(text: string): number {
  return createHash("sha256").update(text).digest().readUInt32BE() / 2 ** 32;
}
