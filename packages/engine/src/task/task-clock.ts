/** A clock that is set back further than this is believed; less than this must not reorder tasks. */
const MAX_BACK_MS = 60_000;

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
  #lastCreation = { at: 0, hasChosenId: false };

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  now(): number {
    this.#latest = Math.max(this.#clock(), this.#floor);
    return this.#latest;
  }

  /**
   * The creation time of a new task. The tasks of a conversation are ordered by it, so it does not
   * precede the creation before it, even if the clock was set back a little meanwhile. Generated
   * ids order what was created in the same millisecond; an id chosen by the caller says nothing
   * about order, so its task shares its millisecond with no other.
   */
  creation({ hasChosenId }: { readonly hasChosenId: boolean }): number {
    const { at: last, hasChosenId: wasChosen } = this.#lastCreation;
    const now = this.now();
    const earliest = hasChosenId || wasChosen ? last + 1 : last;
    const at = now < earliest && now > last - MAX_BACK_MS ? earliest : now;
    this.#lastCreation = { at, hasChosenId };
    this.#latest = Math.max(this.#latest, at);
    return at;
  }

  /** The instant of now: everything written so far is not after it, everything later is. */
  instant(): number {
    const at = Math.max(this.#clock(), this.#latest);
    this.#floor = at + 1;
    return at;
  }
}
