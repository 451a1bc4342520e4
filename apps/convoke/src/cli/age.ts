const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How long ago that was, as one rough number. */
export function ageOf(timestamp: string | undefined, now: number): string {
  const ageMs = Math.max(0, now - Date.parse(timestamp ?? ""));
  if (Number.isNaN(ageMs)) return "?";
  if (ageMs < MINUTE) return `${Math.floor(ageMs / 1000)}s`;
  if (ageMs < HOUR) return `${Math.floor(ageMs / MINUTE)}m`;
  return ageMs < 2 * DAY ? `${Math.floor(ageMs / HOUR)}h` : `${Math.floor(ageMs / DAY)}d`;
}
