/** The longest delay of `setTimeout`, about 24.8 days; a longer one would fire immediately. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export interface TimerOptions {
  /** Whether the process may exit while the timer runs. Default false. */
  readonly unref?: boolean;
}

/**
 * Calls back once after any number of milliseconds, even more than `setTimeout` supports; with
 * `Infinity`, never. Returns a function that stops the timer.
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
    // In browsers a timer is a number and has no `unref`.
    if (unref) (timer as { unref?: () => void }).unref?.();
  };
  wait(ms);
  return () => clearTimeout(timer);
}

/** `AbortSignal.timeout` for any delay; longer ones are capped at {@link MAX_TIMER_MS}. */
export function timeoutSignal(ms: number): AbortSignal {
  return AbortSignal.timeout(Math.min(ms, MAX_TIMER_MS));
}
