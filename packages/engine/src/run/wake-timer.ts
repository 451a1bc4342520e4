import type { TaskRecord, WakePosition } from "../log/backend.ts";

/**
 * How often to check the clock while waiting. The clock may be corrected meanwhile, as on a machine
 * that boots with a wrong time, and Node timers cannot measure more than 24.8 days.
 */
const RECHECK_MS = 60_000;

/** How much longer to wait for a clock that has not reached the time: Node's timers may fire early. */
const EARLY_MS = 2;

/** How many due tasks are woken at once. */
const BATCH = 64;

/** How long to wait after a failure. */
const RETRY_MS = 1000;

/** A task that may have a wake time. */
export type WakingTask = Pick<TaskRecord, "taskId" | "agent" | "agentId" | "wakeAt" | "host">;

export interface WakeTimerOptions {
  /** Where the wake times are: all in the store, or those of the open tasks if others use it too. */
  readonly tasks: { waking(limit: number, after?: WakePosition): Promise<readonly WakingTask[]> };
  readonly now: () => number;
  /** Whether the task is for this process. Others are left asleep: for their agent, or for their host. */
  readonly isOwn: (record: WakingTask) => boolean;
  /** Wakes a due task. `at` is the time it was due, or the current time if that is later. */
  readonly wake: (record: WakingTask, at: number) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

/**
 * One timer for the wake times of all tasks. The times are stored with the
 * tasks, so they survive a restart; only the earliest is in memory.
 */
export class WakeTimer {
  readonly #options: WakeTimerOptions;
  #timer: NodeJS.Timeout | undefined;
  /** The wake time that the timer waits for. */
  #at = Number.POSITIVE_INFINITY;
  #isFiring = false;
  /** The wake time of a timer that fired while another one was being handled. */
  #missed: number | undefined;
  #isClosed = false;

  constructor(options: WakeTimerOptions) {
    this.#options = options;
  }

  /** Makes sure that the timer fires at this time. */
  schedule(at: number): void {
    if (at < this.#at) this.#set(at);
  }

  /** Wakes the tasks that became due while no process was running, and sets the timer. */
  async start(): Promise<void> {
    await this.#fire(this.#options.now());
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

  /** Fires when either the clock or the elapsed time reaches the wake time, whichever comes first. */
  #wait(at: number, until: number): void {
    clearTimeout(this.#timer);
    const leftMs = Math.min(at - this.#options.now(), until - performance.now());
    const check = (): void =>
      this.#isDue(at, until) ? void this.#fire(at) : this.#wait(at, until);
    this.#timer = setTimeout(check, Math.min(RECHECK_MS, Math.max(0, leftMs))).unref();
  }

  /** A question must not expire before its time by the clock. */
  #isDue(at: number, until: number): boolean {
    return this.#options.now() >= at || performance.now() >= until + EARLY_MS;
  }

  /**
   * Wakes all due tasks. The timer has waited long enough, so its task is due
   * even if the clock was set back meanwhile.
   */
  async #fire(armedFor: number): Promise<void> {
    if (this.#isClosed) return;
    this.#at = Number.POSITIVE_INFINITY;
    this.#missed = Math.max(armedFor, this.#missed ?? armedFor);
    if (this.#isFiring) return;
    this.#isFiring = true;
    let next = Number.POSITIVE_INFINITY;
    try {
      // If the timer fires meanwhile, query again: this query may predate it.
      while (this.#missed !== undefined) {
        const due = this.#missed;
        this.#missed = undefined;
        next = await this.#wakeDue(due);
      }
    } catch (error) {
      // The storage closes while a task is woken: the next process finds it still due.
      if (!this.#isClosed) this.#options.onError(error);
      next = this.#options.now() + RETRY_MS;
    }
    this.#isFiring = false;
    if (next !== Number.POSITIVE_INFINITY) this.schedule(next);
  }

  /** Resolves to the wake time of the next task that is not due yet. */
  async #wakeDue(armedFor: number): Promise<number> {
    const { tasks, now, isOwn, wake } = this.#options;
    let after: WakePosition | undefined;
    for (;;) {
      const at = Math.max(now(), armedFor);
      const records = await tasks.waking(BATCH, after);
      const own = records.filter(isOwn);
      const due = own.filter(({ wakeAt = at + 1 }) => wakeAt <= at);
      await Promise.all(due.map((record) => wake(record, at)));
      const next = own[due.length]?.wakeAt;
      if (next !== undefined) return next;
      const { wakeAt, taskId } = records.at(-1) ?? {};
      if (records.length < BATCH || wakeAt === undefined || taskId === undefined) {
        return Number.POSITIVE_INFINITY;
      }
      after = { wakeAt, taskId };
    }
  }
}
