/** The longest time that `setTimeout` can measure, about 24.8 days: a longer one fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export interface TimerOptions {
  /** Whether a process may end while the timer runs; by default it stays for it. */
  readonly unref?: boolean;
}

/**
 * Calls back once after any number of milliseconds, also after more than `setTimeout` can measure;
 * after `Infinity`, never. Returns what stops it.
 */
export function startTimer(
  ms: number,
  fire: () => void,
  { unref = false }: TimerOptions = {},
): () => void {
  let timer: ReturnType<typeof setTimeout>;
  const wait = (leftMs: number): void => {
    const stageMs = Math.min(leftMs, MAX_TIMER_MS);
    timer = setTimeout(() => (leftMs > stageMs ? wait(leftMs - stageMs) : fire()), stageMs);
    // In browsers a timer is a number, and holds nothing.
    if (unref) (timer as { unref?: () => void }).unref?.();
  };
  wait(ms);
  return () => clearTimeout(timer);
}

/** `AbortSignal.timeout` for any time; one beyond what a timer can measure ends there. */
export function timeoutSignal(ms: number): AbortSignal {
  return AbortSignal.timeout(Math.min(ms, MAX_TIMER_MS));
}
