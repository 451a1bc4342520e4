import type { LiveTask } from "./live-task.ts";

const DEFAULT_MAX = 1000;

/**
 * Runs that wait for an answer or a time. Each keeps its generator, so going on
 * costs nothing; there are at most so many, and the one that has waited longest
 * makes room. What it had noted is in the log, and its turn is begun anew.
 */
export class ParkedRuns {
  readonly #max: number;
  readonly #drop: (live: LiveTask) => void;
  readonly #parked = new Set<LiveTask>();

  constructor(max: number = DEFAULT_MAX, drop: (live: LiveTask) => void) {
    this.#max = max;
    this.#drop = drop;
  }

  add(live: LiveTask): void {
    this.#parked.delete(live);
    this.#parked.add(live);
    if (this.#parked.size > this.#max) setImmediate(() => this.#makeRoom());
  }

  /**
   * Not before the run's last words are committed: they are what it will be
   * begun anew from. Nor while someone is about to let it go on: it would go on
   * without the right to write.
   */
  #makeRoom(): void {
    for (const live of this.#parked) {
      if (this.#parked.size <= this.#max) return;
      if (live.holders > 0) continue;
      this.#parked.delete(live);
      const { run } = live;
      if (run?.isParked !== true) continue;
      void run.settled.then(() => {
        if (live.run !== run || !run.isParked) return;
        if (live.holders > 0) this.#parked.add(live);
        else this.#drop(live);
      });
    }
  }
}
