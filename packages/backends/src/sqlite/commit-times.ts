/** How many consecutive events were committed at which time. */
export type CommitTimes = (readonly [count: number, at: number])[];

/**
 * When the events of a segment were committed, if not all at the time of the first: the numbers of
 * events, each with the milliseconds since that time, such as `3:0,1:20`. `null` if they all were.
 */
export function encodeTimes(at: number, times: CommitTimes | undefined): string | null {
  if (times === undefined || times.every(([, time]) => time === at)) return null;
  return times.map(([count, time]) => `${count}:${time - at}`).join(",");
}

/** The times of the events of a segment, in order. `undefined` for events that have the segment's own time. */
export function decodeTimes(at: number | null, times: string | null): number[] | undefined {
  if (at === null || times === null) return undefined;
  return times.split(",").flatMap((entry) => {
    const [count, since] = entry.split(":").map(Number);
    return Array.from({ length: count! }, () => at + since!);
  });
}
