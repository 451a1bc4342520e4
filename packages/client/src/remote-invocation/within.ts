import type { Clock } from "./clock.ts";

export interface Limit {
  readonly clock: Clock;
  readonly ms: number;
  readonly signal?: AbortSignal | undefined;
  /** What is thrown when the time is up. */
  readonly error: Error;
}

/**
 * Does the work within a time limit. Whatever the work makes of its signal, the
 * waiting ends when the time is up or the caller's own signal aborts.
 */
export async function within<T>(
  { clock, ms, signal, error }: Limit,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const over = new AbortController();
  const timeUp = new AbortController();
  const stop = AbortSignal.any([timeUp.signal, ...(signal ? [signal] : [])]);
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const onStop = () => reject(stop.reason as Error);
  stop.addEventListener("abort", onStop, { once: true });
  clock.sleep(ms, over.signal).then(
    () => timeUp.abort(error),
    () => undefined,
  );
  try {
    return await Promise.race([work(stop), stopped]);
  } finally {
    over.abort();
    stop.removeEventListener("abort", onStop);
  }
}
