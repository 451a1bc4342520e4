import { MAX_TIMER_MS, type Member, ShortLivedSet } from "@convoke/protocol/internal";

/** The shared timer fires this many times per interval. */
const TICKS = 3;

/** A connection that may be idle. */
interface Idle {
  onIdle(): void;
}

/** Detects when a connection is idle. */
export class IdleTimer {
  #ticks = 0;
  readonly #idle: Idle;
  readonly #running: RunningTimers;
  readonly #place: Member<IdleTimer>;

  constructor(idle: Idle, running: RunningTimers) {
    this.#idle = idle;
    this.#running = running;
    this.#place = running.add(this);
  }

  stop(): void {
    this.#running.delete(this.#place);
  }

  /** Something was written, so the idle time starts over. */
  reset(): void {
    this.#ticks = 0;
  }

  tick(): void {
    if (++this.#ticks < TICKS) return;
    this.#ticks = 0;
    this.#idle.onIdle();
  }
}

/** The idle timers that run. */
interface RunningTimers {
  add(timer: IdleTimer): Member<IdleTimer>;
  delete(place: Member<IdleTimer>): void;
}

/** One interval timer for all idle timers. It runs only while there are any. */
export class KeepAlive {
  readonly #intervalMs: number;
  readonly #idleTimers = new ShortLivedSet<IdleTimer>();
  readonly #running: RunningTimers = {
    add: (timer) => this.#idleTimers.add(timer),
    delete: (place) => this.#stop(place),
  };
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
  start(idle: Idle): IdleTimer {
    const idleTimer = new IdleTimer(idle, this.#running);
    // An interval of 0 would fire continuously.
    if (this.#intervalMs === 0) return idleTimer;
    this.#timer ??= setInterval(() => this.#tick(), this.#intervalMs / TICKS).unref();
    return idleTimer;
  }

  #stop(stopped: Member<IdleTimer>): void {
    this.#idleTimers.delete(stopped);
    if (this.#idleTimers.isEmpty) this.close();
  }

  /** Stops a timer whose callback throws: the connection cannot be written to, and the error would crash the process. */
  #tick(): void {
    this.#idleTimers.forEach((idleTimer) => {
      try {
        idleTimer.tick();
      } catch {
        idleTimer.stop();
      }
    });
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
