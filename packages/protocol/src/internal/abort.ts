import { startTimer } from "./timer.ts";

/**
 * Settles with the work, or rejects with the signal's reason, whichever comes first. The work
 * itself continues: use it if other callers wait for the same work.
 */
export function orAborted<T>(work: PromiseLike<T>, signal: AbortSignal | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal?.reason as Error);
    const settle = (): void => signal?.removeEventListener("abort", abort);
    // Always observed, so that abandoned work cannot crash the process by rejecting.
    work.then(resolve, reject).then(settle, settle);
    if (signal?.aborted === true) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}

/** Waits any number of milliseconds; rejects with the signal's reason if it aborts first. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason as Error);
    const stop = (): void => {
      stopTimer();
      reject(signal?.reason as Error);
    };
    const stopTimer = startTimer(ms, () => {
      signal?.removeEventListener("abort", stop);
      resolve();
    });
    signal?.addEventListener("abort", stop, { once: true });
    return undefined;
  });
}

export interface BackoffOptions {
  /** Maximum wait after the first failure; it doubles with each further one. */
  readonly firstMs: number;
  /** Upper limit of any wait. */
  readonly longestMs: number;
  /** Jitter from 0 to 1. Random by default; a run that must be reproducible derives it from its own ids. */
  readonly fraction?: number;
}

/**
 * How long to wait after a number of consecutive failures. The wait doubles each time, and half of
 * it is jitter, so that many clients do not return at the same moment.
 */
export function backoffMs(failures: number, options: BackoffOptions): number {
  const { firstMs, longestMs, fraction = Math.random() } = options;
  const most = Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 30));
  return most / 2 + (most / 2) * fraction;
}

/** How long a `Retry-After` header asks to wait, in milliseconds: it holds seconds or a date (RFC 9110 §10.2.3). */
export function parseRetryAfter(value: string | undefined, nowMs = Date.now()): number | undefined {
  if (value === undefined) return undefined;
  if (/^\s*\d{1,9}\s*$/.test(value)) return Number(value) * 1000;
  const time = Date.parse(value);
  return Number.isNaN(time) ? undefined : Math.max(0, time - nowMs);
}
