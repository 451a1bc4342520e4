import { type AgentEvent, type Task, applyEvent } from "@convoke/protocol";

/** How many events a page has. Pages begin at multiples of it, so any of them can be loaded alone. */
export const PAGE_LENGTH = 1000;

/** How many tasks are kept if each of them comes from the server. */
const MAX_SENT_TASKS = 50;

/** An event of a log, or several chunks that the server has joined to one. */
export interface LoggedEvent {
  /** The position of the first chunk; `seq` for a single event. */
  readonly from: number;
  readonly seq: number;
  /** When it was committed, in milliseconds since the epoch. Absent if that was not stored. */
  readonly at?: number | undefined;
  readonly event: AgentEvent;
}

/** Events that are not loaded. */
export interface LogGap {
  readonly from: number;
  readonly to: number;
}

export interface LogPage {
  readonly events: readonly LoggedEvent[];
  /** The position up to which it has been read. */
  readonly last: number;
  /** Whether chunks are joined, so that the page cannot tell what the task was between them. */
  readonly isJoined: boolean;
}

/**
 * The events of a task, as far as they are loaded, and the task as it was after any of them. Pages
 * arrive in any order. The task is kept at the end of each page, so any position is less than a
 * page away from a known one; versions of a task share their parts.
 */
export class EventLog {
  /** The last position. */
  head = 0;
  /**
   * Whether the log has everything that the task is made of. Callers who are not operators see no
   * notes, and a compacted log has lost its events: then only the server knows earlier tasks.
   */
  isWhole = true;
  readonly #pages = new Map<number, LogPage>();
  /** The task after the event at a position. */
  readonly #tasks = new Map<number, Task>();

  page(number: number): LogPage | undefined {
    return this.#pages.get(number);
  }

  /** Whether a page has been read to its end, or to the end of the log. */
  isLoaded(number: number): boolean {
    const page = this.#pages.get(number);
    return page !== undefined && page.last >= Math.min(this.head, endOf(number));
  }

  /** The numbers of the pages that exist, loaded or not. */
  get pageCount(): number {
    return Math.ceil(this.head / PAGE_LENGTH);
  }

  setPage(number: number, page: LogPage): void {
    this.head = Math.max(this.head, page.last);
    this.#pages.set(number, page);
  }

  /** Forgets a page, so that it takes no memory. */
  dropPage(number: number): void {
    this.#pages.delete(number);
  }

  /** Adds an event at the end. */
  append(event: LoggedEvent): void {
    const number = pageOf(event.seq);
    const page = this.#pages.get(number);
    const isNext = page === undefined ? event.seq === startOf(number) + 1 : true;
    const isWholePage = this.isLoaded(number) || isNext;
    this.head = Math.max(this.head, event.seq);
    if (!isWholePage || event.seq <= (page?.last ?? 0)) return;
    const events = [...(page?.events ?? []), event];
    this.#pages.set(number, { events, last: event.seq, isJoined: page?.isJoined ?? false });
  }

  /** Remembers the task after an event, as the server has sent it. */
  setTask(seq: number, task: Task): void {
    this.#tasks.set(seq, task);
    // Tasks that the server has sent do not share their parts.
    const [oldest] = this.#tasks.keys();
    if (!this.isWhole && this.#tasks.size > MAX_SENT_TASKS) this.#tasks.delete(oldest!);
  }

  /** The event at a position. */
  find(seq: number): LoggedEvent | undefined {
    return this.#pages
      .get(pageOf(seq))
      ?.events.find((entry) => entry.from <= seq && seq <= entry.seq);
  }

  /** The events up to a position in their order, and what is missing between them. */
  *upTo(seq: number): Generator<LoggedEvent | LogGap, void> {
    let gap: LogGap | undefined;
    for (let number = 0; number <= pageOf(seq); number++) {
      const page = this.#pages.get(number);
      if (page === undefined) {
        const to = Math.min(seq, endOf(number));
        gap = { from: gap?.from ?? startOf(number) + 1, to };
        continue;
      }
      if (gap) yield gap;
      gap = undefined;
      for (const entry of page.events) if (entry.seq <= seq) yield entry;
    }
    if (gap) yield gap;
  }

  /** The task after the event at a position; `undefined` if something for it is not loaded. */
  taskAt(seq: number): Task | undefined {
    const known = this.#tasks.get(seq);
    if (known !== undefined || !this.isWhole) return known;
    const bases = [...this.#tasks.keys()].filter((base) => base < seq).toSorted((a, b) => b - a);
    for (const base of [...bases, 0]) {
      const task = this.#fold(base, seq);
      if (task !== undefined) return task;
    }
    return undefined;
  }

  #fold(base: number, seq: number): Task | undefined {
    const first = pageOf(base + 1);
    const last = pageOf(seq);
    for (let number = first; number <= last; number++) {
      if (!this.#covers(number, base, seq)) return undefined;
    }
    let task = this.#tasks.get(base);
    for (let number = first; number <= last; number++) {
      for (const entry of this.#pages.get(number)!.events) {
        if (entry.seq > base && entry.seq <= seq) task = applyEvent(task, entry.event);
      }
      if (task !== undefined && endOf(number) <= seq) this.#tasks.set(endOf(number), task);
    }
    return task;
  }

  /** Whether the events of a page after one position and up to another are loaded, none of them joined with others. */
  #covers(number: number, base: number, seq: number): boolean {
    const page = this.#pages.get(number);
    if (page === undefined || page.last < Math.min(seq, endOf(number))) return false;
    const isCut = (position: number): boolean =>
      page.events.some((entry) => entry.from <= position && position < entry.seq);
    return !page.isJoined || (!isCut(base) && !isCut(seq));
  }
}

export function pageOf(seq: number): number {
  return Math.floor((seq - 1) / PAGE_LENGTH);
}

/** The position before the first event of a page. */
export function startOf(number: number): number {
  return number * PAGE_LENGTH;
}

/** The position of the last event of a page. */
function endOf(number: number): number {
  return (number + 1) * PAGE_LENGTH;
}
