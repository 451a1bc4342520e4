import { type Metrics, NO_METRICS } from "@convoke/protocol";
import { ShortLivedSet } from "@convoke/protocol/internal";
import type { Logger } from "../logging/logger.ts";
import { isStorageFailure, unavailable } from "../log/storage-failure.ts";

/** How long callers wait for a storage that fails. Short faults, such as a locked file, are over by then. */
const PATIENCE_MS = 2000;

/**
 * How long one failed call counts, if nothing was stored since. Without requests nothing is written,
 * and a server that gets none because it is not ready must become ready again.
 */
const FAILING_MS = 5000;

/** How often faults are logged. A disk that is almost full fails and works in turns. */
const LOG_EVERY_MS = 60_000;

/**
 * Which tasks wait for the storage, because a write that must not be lost is being retried. Callers
 * do not wait for that: they get an error and can return.
 */
export class StorageHealth {
  readonly #logger: Logger;
  readonly #metrics: Metrics;
  /** The tasks with a write that is being retried. */
  readonly #faults = new Map<string, { isLong: boolean; readonly timer: NodeJS.Timeout }>();
  readonly #waiting = new ShortLivedSet<{ readonly taskId: string; readonly giveUp: () => void }>();
  #isBroken = false;
  #failedAt = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #loggedAt = Number.NEGATIVE_INFINITY;
  #isLogged = false;

  constructor(logger: Logger, metrics: Metrics = NO_METRICS) {
    this.#logger = logger;
    this.#metrics = metrics;
  }

  /** Records that a call failed. @param taskId the task for which it is retried, if it is */
  failed(error: unknown, taskId?: string): void {
    const isPermanent = isStorageFailure(error) && error.isPermanent;
    this.#metrics.count("storageFailures");
    this.#failedAt = performance.now();
    this.#log(error, { taskId, isPermanent });
    if (isPermanent) {
      this.#isBroken = true;
      this.#waiting.forEach(({ giveUp }) => giveUp());
    } else if (taskId !== undefined && !this.#faults.has(taskId)) {
      const timer = setTimeout(() => this.#giveUp(taskId), PATIENCE_MS).unref();
      this.#faults.set(taskId, { isLong: false, timer });
    }
  }

  /** Records that a call for the task succeeded. */
  worked(taskId: string): void {
    this.#failedAt = Number.NEGATIVE_INFINITY;
    const fault = this.#faults.get(taskId);
    if (fault === undefined) return;
    clearTimeout(fault.timer);
    this.#faults.delete(taskId);
    if (this.#faults.size > 0 || !this.#isLogged) return;
    this.#isLogged = false;
    this.#logger.warn("the storage works again", { failures: this.#failures });
    this.#failures = 0;
  }

  /** Whether writes fail: for good, while one is being retried, or a moment ago. */
  get isFailing(): boolean {
    return (
      this.#isBroken || this.#faults.size > 0 || performance.now() - this.#failedAt < FAILING_MS
    );
  }

  /**
   * The same result, or an error with status 503 if the storage does not work for a while. The work
   * continues; the caller gets its result by repeating the request.
   */
  orUnavailable<T>(
    work: Promise<T>,
    { taskId, detail }: { readonly taskId: string; readonly detail: string },
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        forget();
        reject(unavailable(detail));
      };
      const waiting = this.#waiting.add({ taskId, giveUp });
      // It may work again: only a write shows that, and this may be one.
      const late = (): void => (this.#isUnavailable(taskId) ? giveUp() : undefined);
      const timer = this.#isUnavailable(taskId) ? setTimeout(late, PATIENCE_MS) : undefined;
      const forget = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(waiting);
      };
      work.then(
        (result) => {
          forget();
          resolve(result);
        },
        (error: unknown) => {
          forget();
          reject(error as Error);
        },
      );
    });
  }

  #isUnavailable(taskId: string): boolean {
    return this.#isBroken || this.#faults.get(taskId)?.isLong === true;
  }

  #giveUp(taskId: string): void {
    const fault = this.#faults.get(taskId);
    if (fault !== undefined) fault.isLong = true;
    this.#waiting.forEach((waiting) => {
      if (waiting.taskId === taskId) waiting.giveUp();
    });
  }

  /** Names one of the tasks, although the fault concerns all of them. */
  #log(
    error: unknown,
    { taskId, isPermanent }: { readonly taskId: string | undefined; readonly isPermanent: boolean },
  ): void {
    this.#failures += 1;
    const now = performance.now();
    if (now - this.#loggedAt < LOG_EVERY_MS) return;
    this.#loggedAt = now;
    this.#isLogged = true;
    this.#logger.error(isPermanent ? "the storage failed" : "the storage failed, trying again", {
      ...(taskId !== undefined && { taskId }),
      failures: this.#failures,
      error,
    });
  }
}
