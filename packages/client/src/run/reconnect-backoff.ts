/** An agent that never answered is given up sooner than one that is at work. */
const OPENING_MS = 30_000;

const FIRST_MS = 100;
const SECOND_MS = 200;
const MOST_MS = 10_000;

/**
 * How long to wait before the next attempt, and whether there is one: at first
 * next to nothing, then longer and longer. Each sign of progress begins anew.
 * Chance is part of it, so that a thousand clients do not come back at once.
 */
export class ReconnectBackoff {
  readonly #forMs: number | undefined;
  readonly #now: () => number;
  #attempts = 0;
  #since: number | undefined;
  #hasBegun = false;

  /** `forMs` undefined means that there is no second attempt. */
  constructor(forMs: number | undefined, now: () => number = () => performance.now()) {
    this.#forMs = forMs;
    this.#now = now;
  }

  /** How many attempts there were since the last progress. */
  get attempts(): number {
    return this.#attempts;
  }

  /** For how long there was no progress. */
  get waitedMs(): number {
    return this.#since === undefined ? 0 : this.#now() - this.#since;
  }

  progressed(): void {
    this.#attempts = 0;
    this.#since = undefined;
    this.#hasBegun = true;
  }

  /** How long to wait now; nothing when it was enough. */
  next(atLeastMs = 0): number | undefined {
    this.#since ??= this.#now();
    if (this.#forMs === undefined) return undefined;
    const forMs = this.#hasBegun ? this.#forMs : Math.min(this.#forMs, OPENING_MS);
    if (this.waitedMs >= forMs) return undefined;
    this.#attempts++;
    const delay =
      this.#attempts === 1
        ? Math.random() * FIRST_MS
        : Math.min(MOST_MS, SECOND_MS * 2 ** (this.#attempts - 2)) * (0.5 + Math.random() / 2);
    return Math.min(Math.max(delay, atLeastMs), forMs);
  }
}
