/** How long a `Retry-After` header asks to wait, in milliseconds: it holds seconds or a date (RFC 9110 §10.2.3). */
export function parseRetryAfter(value: string | undefined, nowMs = Date.now()): number | undefined {
  if (value === undefined) return undefined;
  if (/^\s*\d{1,9}\s*$/.test(value)) return Number(value) * 1000;
  const time = Date.parse(value);
  return Number.isNaN(time) ? undefined : Math.max(0, time - nowMs);
}
