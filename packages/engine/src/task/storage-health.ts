import type { Logger } from "../logging/logger.ts";
import { isStorageFailure, unavailable } from "../log/storage-failure.ts";

/** How long callers wait for a storage that fails. Short faults, such as a locked file, are over by then. */
const PATIENCE_MS = 2000;

/** How often a fault that lasts is logged. */
const LOG_EVERY_MS = 60_000;

/**
 * Whether the storage can be written. Writes that must not be lost are retried while it cannot, but
 * callers do not wait for that: they get an error and can return.
 */
export class StorageHealth {
  readonly #logger: Logger;
  #failures = 0;
  #loggedAt = 0;
  #isUnavailable = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #waiting = new Set<() => void>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Records that a call failed. The log names one of the tasks, although the fault concerns all of them. */
  failed(error: unknown, taskId?: string): void {
    const isPermanent = isStorageFailure(error) && error.isPermanent;
    const now = performance.now();
    this.#failures += 1;
    if (this.#failures === 1 || now - this.#loggedAt >= LOG_EVERY_MS) {
      this.#loggedAt = now;
      const message = isPermanent ? "the storage failed" : "the storage failed, trying again";
      this.#logger.error(message, {
        ...(taskId !== undefined && { taskId }),
        failures: this.#failures,
        error,
      });
    }
    if (isPermanent) this.#giveUp();
    else this.#timer ??= setTimeout(() => this.#giveUp(), PATIENCE_MS).unref();
  }

  /** Records that a write succeeded. */
  worked(): void {
    if (this.#failures === 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#logger.warn("the storage works again", { failures: this.#failures });
    this.#failures = 0;
    this.#isUnavailable = false;
  }

  /**
   * The same result, or an error with status 503 if the storage does not work for a while. The work
   * goes on; the caller finds it when it repeats its request.
   */
  async orUnavailable<T>(work: Promise<T>, detail: string): Promise<T> {
    const { promise: gaveUp, resolve: giveUp } = Promise.withResolvers<void>();
    this.#waiting.add(giveUp);
    // It may work again: only a write shows that, and this may be one.
    const late = (): void => (this.#isUnavailable ? giveUp() : undefined);
    const timer = this.#isUnavailable ? setTimeout(late, PATIENCE_MS) : undefined;
    const refused = gaveUp.then((): never => {
      work.catch(() => undefined);
      throw unavailable(detail);
    });
    try {
      return await Promise.race([work, refused]);
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(giveUp);
    }
  }

  #giveUp(): void {
    this.#isUnavailable = true;
    for (const giveUp of this.#waiting) giveUp();
  }
}
