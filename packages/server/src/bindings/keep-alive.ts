import { MAX_TIMER_MS } from "@convoke/protocol/internal";

/** How often the timer looks, as a share of the interval. */
const TICKS = 3;

/** One stream's place at the timer. */
export class Silence {
  #ticks = 0;
  #speak: () => void;
  readonly stop: () => void;

  constructor(speak: () => void, stop: (silence: Silence) => void) {
    this.#speak = speak;
    this.stop = () => stop(this);
  }

  /** Something was written: the silence begins anew. */
  broken(): void {
    this.#ticks = 0;
  }

  tick(): void {
    if (++this.#ticks < TICKS) return;
    this.#ticks = 0;
    this.#speak();
  }
}

/** One timer for the silence of all streams. It runs only while there are any. */
export class KeepAlive {
  #intervalMs: number;
  #silences = new Set<Silence>();
  #timer: NodeJS.Timeout | undefined;

  /** @param intervalMs the longest silence; by default 15 s, because proxies cut at 30 s and more; 0 is no end of it */
  constructor(intervalMs = 15_000) {
    if (!(intervalMs >= 0 && intervalMs <= MAX_TIMER_MS)) {
      throw new RangeError(
        `keepAliveMs must be from 0 (never) to ${MAX_TIMER_MS}, not ${intervalMs}`,
      );
    }
    this.#intervalMs = intervalMs;
  }

  /** Calls `speak` whenever nothing was written for about the interval. */
  watch(speak: () => void): Silence {
    const silence = new Silence(speak, (stopped) => {
      this.#silences.delete(stopped);
      if (this.#silences.size === 0) this.close();
    });
    this.#silences.add(silence);
    // A timer of 0 would be one without a pause.
    if (this.#intervalMs === 0) return silence;
    this.#timer ??= setInterval(() => this.#tick(), this.#intervalMs / TICKS).unref();
    return silence;
  }

  /** An error thrown here would end the process: a stream that cannot be written to is no longer watched. */
  #tick(): void {
    for (const each of this.#silences) {
      try {
        each.tick();
      } catch {
        each.stop();
      }
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
