import { setTimeout as realSleep } from "node:timers/promises";
import type { Clock } from "@convoke/client/compat";

interface Sleeper {
  readonly due: number;
  readonly ms: number;
  readonly wake: () => void;
}

/** A clock that stands still until a test advances it, so that no test waits in real time. */
export class ManualClock implements Clock {
  #now = 1_000_000;
  readonly #sleepers = new Set<Sleeper>();
  /** The durations of all sleeps so far, in order. */
  readonly slept: number[] = [];

  now(): number {
    return this.#now;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error);
      const sleeper: Sleeper = {
        due: this.#now + ms,
        ms,
        wake: () => {
          this.#sleepers.delete(sleeper);
          this.slept.push(ms);
          resolve();
        },
      };
      this.#sleepers.add(sleeper);
      signal.addEventListener("abort", () => {
        this.#sleepers.delete(sleeper);
        reject(signal.reason as Error);
      });
    });
  }

  advance(ms: number): void {
    this.#now += ms;
    for (const sleeper of this.#sleepers) if (sleeper.due <= this.#now) sleeper.wake();
  }

  /** Waits, briefly and in real time, until there is a sleep of this duration. */
  async someoneSleeps(ms: number): Promise<void> {
    const isAsleep = () => [...this.#sleepers].some((sleeper) => sleeper.ms === ms);
    for (let tries = 0; !isAsleep(); tries += 1) {
      if (tries > 10_000) throw new Error(`there is no sleep of ${ms} ms`);
      await realSleep(2);
    }
  }

  /** Advances the clock whenever there is a sleep of this duration, until the work is done. */
  async passing<T>(ms: number, work: Promise<T>): Promise<T> {
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    work.then(over, over);
    for (let turns = 0; !isOver; turns += 1) {
      if (turns > 20_000) throw new Error("it takes too long");
      if ([...this.#sleepers].some((sleeper) => sleeper.ms === ms)) this.advance(ms);
      await realSleep(1);
    }
    return work;
  }
}
