export interface BackoffOptions {
  /** The longest wait after the first failure; it doubles with each further one. */
  readonly firstMs: number;
  /** No wait is longer than this. */
  readonly longestMs: number;
  /** From 0 to 1, by default random. A run that must be repeatable derives it from its own ids. */
  readonly fraction?: number;
}

/**
 * How long to wait after so many failures in a row. The wait doubles each time,
 * and half of it is spread, so that many clients do not come back at the same moment.
 */
export function backoffMs(failures: number, options: BackoffOptions): number {
  const { firstMs, longestMs, fraction = Math.random() } = options;
  const most = Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 30));
  return most / 2 + (most / 2) * fraction;
}
