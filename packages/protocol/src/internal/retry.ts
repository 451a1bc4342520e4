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
