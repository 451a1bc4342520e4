/** Runs a bounded number of things at a time, in the order they came. */
export class RunSlots {
  #free: number;
  #waiting: (() => Promise<void>)[] = [];

  constructor(slots: number) {
    this.#free = slots;
  }

  /** Starts the work now or when a place is free. It reports its own failures. */
  run(work: () => Promise<void>): void {
    this.#waiting.push(work);
    this.#next();
  }

  #next(): void {
    if (this.#free === 0) return;
    const work = this.#waiting.shift();
    if (work === undefined) return;
    this.#free--;
    void work().finally(() => {
      this.#free++;
      this.#next();
    });
  }
}
