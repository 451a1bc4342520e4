import { signal } from "@preact/signals";

/** Changes every few seconds, so that ages stay true. */
const now = signal(Date.now());
setInterval(() => (now.value = Date.now()), 5000);

/** How long ago something was, with the exact time in its title. */
export function Ago({ at }: { readonly at: string }) {
  const time = Date.parse(at);
  return (
    <time dateTime={at} title={new Date(time).toLocaleString()}>
      {formatAgo(now.value - time)}
    </time>
  );
}

function formatAgo(ms: number): string {
  if (ms < 5000) return "just now";
  return `${formatLong(ms)} ago`;
}

function formatLong(ms: number): string {
  const minutes = ms / 60_000;
  if (minutes < 1) return `${Math.floor(ms / 1000)} s`;
  if (minutes < 60) return `${Math.floor(minutes)} min`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h`;
  return `${Math.floor(minutes / 60 / 24)} days`;
}

/** A duration with about three digits, such as "42 ms", "1.25 s" or "3 min 20 s". */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toPrecision(3)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
  return `${Math.floor(ms / 3_600_000)} h ${Math.round((ms % 3_600_000) / 60_000)} min`;
}

/** A number with thousands separators. */
export function formatCount(count: number): string {
  return count.toLocaleString("en-US");
}

/** A price with as many digits as it needs. */
export function formatCost(usd: number): string {
  return `$${usd === 0 ? "0" : usd >= 0.01 ? usd.toFixed(2) : usd.toPrecision(2)}`;
}
