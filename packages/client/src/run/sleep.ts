import { startTimer } from "@convoke/protocol/internal";

/** Waits; rejects with the signal's reason when it aborts meanwhile. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error);
    const wake = (): void => {
      signal.removeEventListener("abort", stop);
      resolve();
    };
    const stopTimer = startTimer(ms, wake);
    const stop = (): void => {
      stopTimer();
      reject(signal.reason as Error);
    };
    signal.addEventListener("abort", stop, { once: true });
  });
}
