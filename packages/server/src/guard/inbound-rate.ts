import { A2AError, INBOUND_PER_MINUTE } from "@convoke/protocol";
import type { Logger, RateStore } from "@convoke/engine";

/** How tasks of the polling protocol are limited. */
export interface InboundOptions {
  /**
   * How many tasks each authenticated caller may send in any minute; without authentication, each
   * address. Default 5: an agent that calls others in a loop is stopped before it costs much.
   */
  readonly perMinute?: number;
}

const WINDOW_MS = 60_000;

/** More sources than one process serves in a minute. */
const MAX_SOURCES = 100_000;

/** Throws if the limit is not a whole number above 0. */
export function checkInboundRate({ perMinute = INBOUND_PER_MINUTE }: InboundOptions = {}): void {
  if (Number.isSafeInteger(perMinute) && perMinute >= 1) return;
  throw new RangeError(`inbound.perMinute must be a whole number above 0, not ${perMinute}`);
}

interface InboundRateParts {
  readonly logger: Logger;
  /** Where servers that share their tasks count together. Default: this server counts alone. */
  readonly store?: RateStore | undefined;
  /** Default `Date.now`. */
  readonly now?: () => number;
}

/**
 * Counts the inbound tasks of each source in a sliding window. Tasks of this protocol are few, so
 * servers that share their tasks ask the store about each of them.
 */
export class InboundRate {
  readonly #limit: number;
  readonly #parts: InboundRateParts;
  readonly #now: () => number;
  /** When the tasks of each source arrived, oldest first. The source that sent last is at the end. */
  readonly #arrivals = new Map<string, readonly number[]>();

  constructor({ perMinute = INBOUND_PER_MINUTE }: InboundOptions, parts: InboundRateParts) {
    this.#limit = perMinute;
    this.#parts = parts;
    this.#now = parts.now ?? Date.now;
  }

  /** Counts a task. Rejects, and counts nothing, if its source has sent too many. */
  async count(source: string): Promise<void> {
    const { store, logger } = this.#parts;
    const rate = { limit: this.#limit, windowMs: WINDOW_MS };
    const waitMs = await store?.arrive(`inbound ${source}`, rate).catch((error: unknown) => {
      logger.warn("inbound tasks are counted by this server alone, because the store failed", {
        error,
      });
      return undefined;
    });
    if (waitMs === undefined) this.#countAlone(source);
    else if (waitMs > 0) throw this.#exceeded(waitMs);
  }

  #countAlone(source: string): void {
    const now = this.#now();
    const recent = (this.#arrivals.get(source) ?? []).filter((at) => at > now - WINDOW_MS);
    if (recent.length >= this.#limit) throw this.#exceeded(recent[0]! + WINDOW_MS - now);
    this.#arrivals.delete(source);
    this.#arrivals.set(source, [...recent, now]);
    this.#sweep(now);
  }

  /** Forgets sources that have sent nothing for a minute. */
  #sweep(now: number): void {
    for (const [source, arrivals] of this.#arrivals) {
      const isOld = arrivals.at(-1)! <= now - WINDOW_MS;
      if (!isOld && this.#arrivals.size <= MAX_SOURCES) return;
      this.#arrivals.delete(source);
    }
  }

  #exceeded(retryAfterMs: number): A2AError {
    const most = this.#limit;
    const seconds = Math.ceil(retryAfterMs / 1000);
    const problem = `more than ${most} inbound tasks in a minute (the limit inbound.perMinute): try again in ${seconds} s`;
    const details = { limit: "inbound.perMinute", most: String(most) };
    return new A2AError("TooManyRequests", problem, { details, retryAfterMs });
  }
}
