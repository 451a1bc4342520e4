import type { Seq } from "./backend.ts";
import type { LogEntry } from "./log-entry.ts";

const MAX_ENTRIES = 1024;

/**
 * The newest entries of a log in memory, so that readers who keep up never
 * touch the store. Bounded: whoever falls further behind reads pages.
 */
export class LogTail {
  #entries: LogEntry[] = [];

  add(entries: readonly LogEntry[]): void {
    this.#entries.push(...entries);
    // Trimmed in bulk, so that the cost per entry stays constant.
    if (this.#entries.length > 2 * MAX_ENTRIES) this.#entries = this.#entries.slice(-MAX_ENTRIES);
  }

  /** Up to `limit` entries after `after`, or `undefined` when they are not all here. */
  after(after: Seq, limit: number): readonly LogEntry[] | undefined {
    const first = this.#entries[0];
    if (first === undefined || after + 1 < first.seq) return undefined;
    const place = after + 1 - first.seq;
    return place === 0 && this.#entries.length <= limit
      ? this.#entries
      : this.#entries.slice(place, place + limit);
  }
}
