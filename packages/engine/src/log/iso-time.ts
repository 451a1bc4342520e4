let last = { ms: Number.NaN, text: "" };

/** A time as ISO 8601. Many statuses share a millisecond, and writing it out is not cheap. */
export function isoTime(ms: number): string {
  if (ms !== last.ms) last = { ms, text: new Date(ms).toISOString() };
  return last.text;
}
