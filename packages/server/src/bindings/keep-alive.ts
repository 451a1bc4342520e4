import { MAX_TIMER_MS } from "@convoke/protocol/internal";

/** The shared timer fires this many times per interval. */
const TICKS = 3;

/** Detects when a connection is idle. */
export class IdleTimer {
  #ticks = 0;
  readonly #onIdle: () => void;
  readonly stop: () => void;

  constructor(onIdle: () => void, stop: (timer: IdleTimer) => void) {
    this.#onIdle = onIdle;
    this.stop = () => stop(this);
  }

  /** Something was written, so the idle time starts over. */
  reset(): void {
    this.#ticks = 0;
  }

  tick(): void {
    if (++this.#ticks < TICKS) return;
    this.#ticks = 0;
    this.#onIdle();
  }
}

/** One interval timer for all idle timers. It runs only while there are any. */
export class KeepAlive {
  readonly #intervalMs: number;
  readonly #idleTimers = new Set<IdleTimer>();
  #timer: NodeJS.Timeout | undefined;

  /** @param intervalMs the idle time. Default 15 s: many proxies drop idle connections at 30 s. 0 disables keep-alives. */
  constructor(intervalMs = 15_000) {
    if (!(intervalMs >= 0 && intervalMs <= MAX_TIMER_MS)) {
      throw new RangeError(
        `keepAliveMs must be from 0 (never) to ${MAX_TIMER_MS}, not ${intervalMs}`,
      );
    }
    this.#intervalMs = intervalMs;
  }

  /** Calls `onIdle` whenever the timer was not reset for about the interval. */
  start(onIdle: () => void): IdleTimer {
    const idleTimer = new IdleTimer(onIdle, (stopped) => {
      this.#idleTimers.delete(stopped);
      if (this.#idleTimers.size === 0) this.close();
    });
    this.#idleTimers.add(idleTimer);
    // An interval of 0 would fire continuously.
    if (this.#intervalMs === 0) return idleTimer;
    this.#timer ??= setInterval(() => this.#tick(), this.#intervalMs / TICKS).unref();
    return idleTimer;
  }

  /** Stops a timer whose callback throws: the connection cannot be written to, and the error would crash the process. */
  #tick(): void {
    for (const idleTimer of this.#idleTimers) {
      try {
        idleTimer.tick();
      } catch {
        idleTimer.stop();
      }
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
