const MINUTE_MS = 60_000;

/** Counts what comes within a minute, which begins with the first. */
export class Rate {
  readonly #most: number;
  #begunAt = Number.NEGATIVE_INFINITY;
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether one more may come. */
  take(now: number): boolean {
    if (now - this.#begunAt >= MINUTE_MS) {
      this.#begunAt = now;
      this.#count = 0;
    }
    this.#count += 1;
    return this.#count <= this.#most;
  }
}
