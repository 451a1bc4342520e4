import type { TaskIndex, TaskRecord } from "./backend.ts";

/** Timers of Node are 32 bits; a longer wait is taken in stages. */
const LONGEST_MS = 2 ** 31 - 1;

/** How many due tasks are woken at a time. */
const BATCH = 64;

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
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#at = at;
    const wait = Math.min(LONGEST_MS, Math.max(0, at - this.#options.now()));
    this.#timer = setTimeout(() => void this.#ring(at), wait).unref();
  }

  /**
   * Wakes everything due. The timer ran for as long as it should, so what it
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
