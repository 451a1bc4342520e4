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
