import { backoffMs } from "@convoke/protocol/internal";

/** An agent that never responded is given up sooner than one that is at work. */
const OPENING_MS = 30_000;

/** The first retry comes almost at once: most losses are a connection that a proxy closed. */
const FIRST_MS = 100;
const BACKOFF = { firstMs: 200, longestMs: 10_000 };

/**
 * How long to wait before the next attempt, and when to give up. The wait is short at first and
 * grows; any progress resets it. It is partly random, so that a thousand clients do not return at once.
 */
export class ReconnectBackoff {
  readonly #forMs: number | undefined;
  readonly #now: () => number;
  #attempts = 0;
  #since: number | undefined;
  #hasBegun = false;

  /** `forMs` is how long to retry without progress; `undefined` means a single attempt. */
  constructor(forMs: number | undefined, now: () => number = () => performance.now()) {
    this.#forMs = forMs;
    this.#now = now;
  }

  /** Attempts since the last progress. */
  get attempts(): number {
    return this.#attempts;
  }

  /** Time since the last progress. */
  get waitedMs(): number {
    return this.#since === undefined ? 0 : this.#now() - this.#since;
  }

  progressed(): void {
    this.#attempts = 0;
    this.#since = undefined;
    this.#hasBegun = true;
  }

  /** How long to wait now; `undefined` when it is time to give up. */
  next(atLeastMs = 0): number | undefined {
    this.#since ??= this.#now();
    if (this.#forMs === undefined) return undefined;
    const forMs = this.#hasBegun ? this.#forMs : Math.min(this.#forMs, OPENING_MS);
    if (this.waitedMs >= forMs) return undefined;
    this.#attempts++;
    const delayMs =
      this.#attempts === 1 ? Math.random() * FIRST_MS : backoffMs(this.#attempts - 1, BACKOFF);
    return Math.min(Math.max(delayMs, atLeastMs), forMs);
  }
}
