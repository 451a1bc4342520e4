import type { LiveTask } from "./live-task.ts";

const DEFAULT_MAX_PARKED = 1000;

/**
 * Suspended runs. Each keeps its generator in memory, so resuming it costs
 * nothing. If there are too many, the run that has waited longest is evicted; its
 * turn resumes from the journal in the log.
 */
export class ParkedRuns {
  readonly #max: number;
  readonly #evict: (live: LiveTask) => void;
  readonly #parked = new Set<LiveTask>();

  constructor(max: number = DEFAULT_MAX_PARKED, evict: (live: LiveTask) => void) {
    this.#max = max;
    this.#evict = evict;
  }

  add(live: LiveTask): void {
    this.#parked.delete(live);
    this.#parked.add(live);
    if (this.#parked.size > this.#max) setImmediate(() => this.#makeRoom());
  }

  /**
   * Evicts runs only after their last events are committed, because they resume
   * from those, and not while their task is held: the holder may be about to
   * resume the run, which could no longer write.
   */
  #makeRoom(): void {
    for (const live of this.#parked) {
      if (this.#parked.size <= this.#max) return;
      if (live.isHeld) continue;
      this.#parked.delete(live);
      const { run } = live;
      if (run?.isEvictable !== true) continue;
      void run.settled.then(() => {
        if (live.run !== run || !run.isEvictable) return;
        if (live.isHeld) this.#parked.add(live);
        else this.#evict(live);
      });
    }
  }
}
