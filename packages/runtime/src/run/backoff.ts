import { backoffMs } from "@convoke/protocol/internal";
import { createHash } from "node:crypto";

/** Maximum wait between two requests, unless the provider asks for more. */
const MAX_MS = 30_000;

/** How often a request to a model is tried, and how long the loop waits in between. */
export interface RetryRule {
  /** The largest number of requests, the first included. Default 4. */
  readonly attempts: number;
  /** The longest wait after the first failure; it doubles with each further one. Default 500. */
  readonly firstWaitMs: number;
  /** If the provider asks to wait longer than this, the loop gives up. Default: one minute. */
  readonly maxWaitMs: number;
}

export const DEFAULT_RETRY: RetryRule = {
  attempts: 4,
  firstWaitMs: 500,
  maxWaitMs: 60_000,
};

/**
 * How long to wait after this many failures, and at least as long as the provider asks. The jitter
 * is derived from the seed, so that a resumed run waits as long as the first one did.
 */
export function retryWaitMs(
  failures: number,
  facts: {
    readonly firstWaitMs: number;
    readonly seed: string;
    readonly retryAfterMs: number | undefined;
  },
): number {
  const { firstWaitMs, seed, retryAfterMs } = facts;
  const fraction = fractionFor(`${seed}:${failures}`);
  const waitMs = backoffMs(failures, { firstMs: firstWaitMs, longestMs: MAX_MS, fraction });
  return Math.max(Math.round(waitMs), retryAfterMs ?? 0);
}

/** A number from 0 to 1, the same for the same text. */
function fractionFor(text: string): number {
  return createHash("sha256").update(text).digest().readUInt32BE() / 2 ** 32;
}
