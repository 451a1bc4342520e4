import { type InternalEvent, NOTES, type Turn, isMessageReceived } from "@convoke/protocol";

/**
 * How long a task was worked on, from its first model call. The time in which it waited for its
 * caller does not count, nor does the time in which no process worked on it: earlier attempts count
 * from their start to their last note.
 */
export class WorkClock {
  /** When the first model call was made; absent before it. */
  readonly startedAt: Date | undefined;
  readonly #now: () => number;
  readonly #workedBefore: number;
  #startedNow: number | undefined;
  #waitedMs = 0;

  constructor({ now, journal }: Pick<Turn, "now" | "journal">) {
    this.#now = () => now().getTime();
    const { startedAt, workedMs } = earlierWork(journal);
    this.startedAt = startedAt === undefined ? undefined : new Date(startedAt);
    this.#workedBefore = workedMs;
  }

  /** Work begins, in this attempt. */
  start(): void {
    this.#startedNow ??= this.#now();
  }

  /** The task waited for its caller, in this attempt. */
  addWait(from: Date, to: Date): void {
    this.#waitedMs += Math.max(0, to.getTime() - from.getTime());
  }

  get workedMs(): number {
    const now = this.#now();
    const workedNow = Math.max(0, now - (this.#startedNow ?? now) - this.#waitedMs);
    return this.#workedBefore + workedNow;
  }
}

/** Adds up the times between notes, without those that cross a wait or a restart. */
function earlierWork(journal: readonly InternalEvent[]): {
  readonly startedAt: number | undefined;
  readonly workedMs: number;
} {
  let startedAt: number | undefined;
  let last: number | undefined;
  let isWaiting = false;
  let workedMs = 0;
  for (const event of journal) {
    const at = timeIn(event);
    const isRestart = event.kind === NOTES.attempt;
    const endsWait = isWaiting && isWaitEnd(event);
    if (startedAt === undefined && event.kind === "internal:llm-call") startedAt = at;
    else if (startedAt !== undefined && !isRestart && !isWaiting && at !== undefined) {
      workedMs += Math.max(0, at - (last ?? at));
    }
    // An older log has no time for a restart: then work counts from the next note.
    if (isRestart || at !== undefined) last = at;
    if (endsWait) isWaiting = false;
    else if (event.kind === "internal:ask") isWaiting = true;
  }
  return { startedAt, workedMs };
}

function isWaitEnd(event: InternalEvent): boolean {
  return isMessageReceived(event) || event.kind === NOTES.expired || event.kind === NOTES.recalled;
}

function timeIn({ timestamp }: InternalEvent): number | undefined {
  return typeof timestamp === "string" ? Date.parse(timestamp) : undefined;
}
