export interface BackoffOptions {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** A second, then twice as long each time, up to five minutes. */
export const BACKOFF: BackoffOptions = { firstMs: 1000, longestMs: 5 * 60_000 };

/**
 * How long to wait after so many failures in a row. Half of it is chance, so
 * that many senders do not come back in the same moment.
 */
export function backoff(failures: number, { firstMs, longestMs }: BackoffOptions): number {
  const most = Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 30));
  return most / 2 + (most / 2) * Math.random();
}
