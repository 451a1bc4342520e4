/** A stretch of time in which nothing happened, drawn shorter than it was. */
interface IdleTime {
  /** Where it is, from 0 to 1. */
  readonly start: number;
  readonly end: number;
  readonly ms: number;
}

export interface TimeScale {
  /** The place of a time, from 0 to 1. */
  place(time: number): number;
  readonly idle: readonly IdleTime[];
  /** How long everything took. */
  readonly totalMs: number;
}

/** An idle time is drawn at most as long as this part of the time in which something happened. */
const IDLE_PART = 0.08;

/** Shorter times are never collapsed. */
const MIN_IDLE_MS = 1000;

/**
 * A scale on which idle time is short: a task that works for 2 s, waits a day for an answer and
 * works for 2 s again would otherwise be two thin lines.
 */
export function timeScale(times: Iterable<number>): TimeScale {
  const points = [...new Set(times)].toSorted((a, b) => a - b);
  const steps = points.slice(1).map((point, place) => point - points[place]!);
  const longest = idleLimit(steps);
  const starts: number[] = [0];
  for (const step of steps) starts.push(starts.at(-1)! + Math.min(step, longest));
  const total = starts.at(-1) || 1;
  return {
    place: (time) => {
      const before = lastAtOrBefore(points, time);
      if (before < 0) return 0;
      const step = steps[before];
      if (step === undefined) return 1;
      const part = (time - points[before]!) / step;
      return (starts[before]! + part * Math.min(step, longest)) / total;
    },
    idle: steps.flatMap((step, place) =>
      step > longest
        ? [{ start: starts[place]! / total, end: starts[place + 1]! / total, ms: step }]
        : [],
    ),
    totalMs: (points.at(-1) ?? 0) - (points[0] ?? 0),
  };
}

/** The longest step that is drawn as it is: the steps that are not much longer than all shorter ones together. */
function idleLimit(steps: readonly number[]): number {
  let sum = 0;
  for (const step of steps.toSorted((a, b) => a - b)) {
    const limit = Math.max(MIN_IDLE_MS, sum / 2);
    if (step > limit) return Math.max(MIN_IDLE_MS, sum * IDLE_PART);
    sum += step;
  }
  return Number.POSITIVE_INFINITY;
}

function lastAtOrBefore(points: readonly number[], time: number): number {
  let low = 0;
  let high = points.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (points[middle]! <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
