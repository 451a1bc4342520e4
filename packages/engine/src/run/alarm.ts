import type { TaskIndex, TaskRecord } from "../log/backend.ts";

/**
 * How long the alarm relies on its timer before it looks at the clock again. The clock may be
 * corrected meanwhile, as on a machine that starts with a wrong time; and no timer of Node can
 * measure more than 24.8 days.
 */
const LOOK_MS = 60_000;

/** How many due tasks are woken at a time. */
const BATCH = 64;

/** How much longer than it should the alarm waits for a clock that has not come to the time. */
const EARLY_MS = 2;

/** How long after a failure the alarm looks again. */
const RETRY_MS = 1000;

export interface AlarmOptions {
  readonly tasks: TaskIndex;
  readonly now: () => number;
  /** Wakes a task whose time has come; `at` is that time, or now when it is later. */
  readonly wake: (record: TaskRecord, at: number) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

/**
 * One timer for all tasks that want to be woken. The times are in the store,
 * so they outlive the process; here is only the earliest of them.
 */
export class Alarm {
  readonly #options: AlarmOptions;
  #timer: NodeJS.Timeout | undefined;
  /** The time that the timer stands for. */
  #at = Number.POSITIVE_INFINITY;
  #isRinging = false;
  /** The time of a ring that came during another one. */
  #missed: number | undefined;
  #isClosed = false;

  constructor(options: AlarmOptions) {
    this.#options = options;
  }

  /** Some task wants to be woken then. */
  want(at: number): void {
    if (at < this.#at) this.#set(at);
  }

  /** Looks for what was due while nobody watched, and sets the timer. */
  async start(): Promise<void> {
    await this.#ring(this.#options.now());
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #set(at: number): void {
    if (this.#isClosed) return;
    this.#at = at;
    this.#wait(at, performance.now() + at - this.#options.now());
  }

  /** Rings when the clock says so, or once the wait has lasted as long as it should. */
  #wait(at: number, until: number): void {
    clearTimeout(this.#timer);
    const leftMs = Math.min(at - this.#options.now(), until - performance.now());
    const look = (): void => (this.#isDue(at, until) ? void this.#ring(at) : this.#wait(at, until));
    this.#timer = setTimeout(look, Math.min(LOOK_MS, Math.max(0, leftMs))).unref();
  }

  /** Node's timers may fire a millisecond early: a question would expire before its time by the clock. */
  #isDue(at: number, until: number): boolean {
    return this.#options.now() >= at || performance.now() >= until + EARLY_MS;
  }

  /**
   * Wakes everything due. The alarm waited for as long as it should, so what it
   * stood for is due, even if the clock was set back meanwhile.
   */
  async #ring(armedFor: number): Promise<void> {
    if (this.#isClosed) return;
    this.#at = Number.POSITIVE_INFINITY;
    this.#missed = Math.max(armedFor, this.#missed ?? armedFor);
    if (this.#isRinging) return;
    this.#isRinging = true;
    let next = Number.POSITIVE_INFINITY;
    try {
      // What became due meanwhile is looked for again: this round may have read the store before.
      while (this.#missed !== undefined) {
        const due = this.#missed;
        this.#missed = undefined;
        next = await this.#wakeDue(due);
      }
    } catch (error) {
      this.#options.onError(error);
      next = this.#options.now() + RETRY_MS;
    }
    this.#isRinging = false;
    if (next !== Number.POSITIVE_INFINITY) this.want(next);
  }

  /** Resolves to the time of the next task that is not due yet. */
  async #wakeDue(armedFor: number): Promise<number> {
    const { tasks, now, wake } = this.#options;
    for (;;) {
      const at = Math.max(now(), armedFor);
      const records = await tasks.waking(BATCH);
      const due = records.filter(({ wakeAt = at + 1 }) => wakeAt <= at);
      await Promise.all(due.map((record) => wake(record, at)));
      if (due.length < BATCH) return records[due.length]?.wakeAt ?? Number.POSITIVE_INFINITY;
    }
  }
}
