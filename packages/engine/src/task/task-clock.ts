/**
 * The time of what is written, in milliseconds. A list is of one instant, and a
 * clock of milliseconds may show what came before and what came after as the
 * same: so whatever is written once a list has begun is given a later time.
 */
export class TaskClock {
  readonly #clock: () => number;
  /** The last time that was given out. */
  #latest = 0;
  /** No earlier time is given out. */
  #floor = 0;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  now(): number {
    this.#latest = Math.max(this.#clock(), this.#floor);
    return this.#latest;
  }

  /** The instant of now: everything written so far is not after it, everything later is. */
  instant(): number {
    const at = Math.max(this.#clock(), this.#latest);
    this.#floor = at + 1;
    return at;
  }
}
