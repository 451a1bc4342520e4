/** Waits; rejects with the signal's reason when it aborts meanwhile. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error);
    const wake = (): void => {
      signal.removeEventListener("abort", stop);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    signal.addEventListener("abort", stop, { once: true });
  });
}
