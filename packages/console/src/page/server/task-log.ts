import { type Signal, batch, signal } from "@preact/signals";
import { CODECS, type PublicEvent, type Task, type TaskState, isTerminal } from "@convoke/protocol";
import { about } from "./about.ts";
import { EventLog, type LoggedEvent, PAGE_LENGTH, pageOf, startOf } from "./event-log.ts";
import { followEvents } from "./event-source.ts";
import { ask } from "./session.ts";

/** What the server says about a log with each page. */
export interface LogFacts {
  readonly id: string;
  readonly contextId: string;
  readonly agent: string;
  readonly owner?: string;
  readonly state: TaskState;
  readonly head: number;
  readonly compacted?: boolean;
}

/** An event in the form of the read API. */
export interface LogLine {
  readonly from?: number;
  readonly seq: number;
  readonly at?: string;
  readonly event: unknown;
}

interface LogAnswer extends LogFacts {
  readonly next?: number;
  readonly events: readonly LogLine[];
}

/** A log with up to so many pages is loaded event by event, a longer one with its chunks joined. */
const EXACT_PAGES = 20;

/** How many pages of a longer log are loaded without being asked for, from both ends. */
const MAX_PAGES = 300;

/** How many pages are loaded at once when a reader asks for what was left out. */
const FILLED_PAGES = 50;

/** Events of a live task are shown together, this often. */
const REFRESH_MS = 100;

/** The same if the server is asked for the task each time. */
const SLOW_REFRESH_MS = 1000;

/** The log of a task in this page: loaded by pages, and followed while the task works. */
export class TaskLog {
  readonly taskId: string;
  readonly events = new EventLog();
  readonly facts: Signal<LogFacts | undefined> = signal(undefined);
  readonly status: Signal<"loading" | "ready" | "error"> = signal("loading");
  readonly problem: Signal<Error | undefined> = signal(undefined);
  /** Changes with the log. Read it to be rendered again. */
  readonly version = signal(0);
  readonly #abort = new AbortController();
  readonly #loading = new Map<string, Promise<void>>();
  /** The pages that are loaded event by event, the least recently used first. */
  #exact: number[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(taskId: string) {
    this.taskId = taskId;
  }

  /** Shows a log that was read from a file. Nothing of it is on the server. */
  show(entries: readonly LoggedEvent[], facts: LogFacts, task: Task | undefined): void {
    const { events } = this;
    events.isWhole = facts.compacted !== true;
    events.head = facts.head;
    for (const [number, page] of Map.groupBy(entries, ({ seq }) => pageOf(seq))) {
      const last = Math.min(facts.head, startOf(number + 1));
      events.setPage(number, { events: page, last, isJoined: false });
    }
    if (!events.isWhole && task) events.setTask(facts.head, task);
    this.facts.value = facts;
    this.status.value = "ready";
  }

  /** Loads both ends, then the rest, and follows the log until `close`. */
  async open(): Promise<void> {
    try {
      await this.#loadPage(0, { isJoined: false });
      const { events } = this;
      await this.#loadPage(events.pageCount - 1, { isJoined: false });
      await this.need(events.head);
      this.status.value = "ready";
    } catch (problem) {
      if (this.#abort.signal.aborted) return;
      batch(() => {
        this.problem.value = problem as Error;
        this.status.value = "error";
      });
      return;
    }
    void this.#follow();
    await this.#loadMiddle().catch(() => undefined);
  }

  close(): void {
    this.#abort.abort();
    clearTimeout(this.#timer);
  }

  /** Loads what is needed to know the task after an event. Resolves when `taskAt` can tell. */
  async need(seq: number): Promise<void> {
    const { events } = this;
    const number = pageOf(seq);
    const isExact = events.isLoaded(number) && events.page(number)?.isJoined === false;
    if (events.isWhole && !isExact) await this.#loadPage(number, { isJoined: false });
    if (events.taskAt(seq) !== undefined) return;
    // From the start of a page on, all of its events can be visited without asking again.
    const isAlone = !events.isWhole || seq === events.head;
    await this.#loadTask(isAlone ? seq : startOf(number));
  }

  /** Loads the first of some events that were left out, so that lists can show them. */
  async fill(from: number, to: number): Promise<void> {
    const first = pageOf(from);
    const last = Math.min(pageOf(to), first + FILLED_PAGES - 1);
    for (let number = first; number <= last; number++) {
      if (!this.events.isLoaded(number)) await this.#loadPage(number, { isJoined: this.#isLong });
    }
  }

  /** All lines of the log as the server has them, page by page. A file has them already. */
  async *lines(): AsyncGenerator<readonly LogLine[], void> {
    for (let after: number | undefined = 0; after !== undefined;) {
      const answer: LogAnswer = await this.#read(after, PAGE_LENGTH, false);
      yield answer.events;
      after = answer.next;
    }
  }

  get #isLong(): boolean {
    return this.events.pageCount > EXACT_PAGES;
  }

  async #loadMiddle(): Promise<void> {
    const { pageCount } = this.events;
    const half = Math.floor(MAX_PAGES / 2);
    for (let number = 1; number < pageCount - 1; number++) {
      if (number === half && pageCount > MAX_PAGES) number = pageCount - half;
      if (this.#abort.signal.aborted) return;
      if (!this.events.isLoaded(number)) await this.#loadPage(number, { isJoined: this.#isLong });
    }
  }

  #loadPage(number: number, { isJoined }: { readonly isJoined: boolean }): Promise<void> {
    return this.#once(`page ${number} ${isJoined}`, async () => {
      const loaded: LoggedEvent[] = [];
      const start = startOf(number);
      let last = start;
      for (let isDone = false; !isDone;) {
        const limit = start + PAGE_LENGTH - last;
        const answer = await this.#read(last, limit, isJoined);
        for (const line of answer.events) loaded.push(parseLine(line));
        this.#setFacts(answer);
        last = answer.next ?? Math.min(answer.head, start + PAGE_LENGTH);
        isDone = answer.next === undefined || last >= start + PAGE_LENGTH;
      }
      // Events that came in the meantime are in the page that is there.
      if ((this.events.page(number)?.last ?? 0) > last) return;
      this.events.setPage(number, { events: loaded, last, isJoined });
      if (!isJoined) this.#keepExact(number);
      this.#refresh();
    });
  }

  /** Of a long log, few pages are kept event by event. */
  #keepExact(number: number): void {
    this.#exact = [...this.#exact.filter((other) => other !== number), number];
    if (this.#exact.length <= EXACT_PAGES || !this.#isLong) return;
    const [oldest] = this.#exact.splice(0, 1);
    if (oldest === undefined || oldest === 0) return;
    this.events.dropPage(oldest);
    void this.#loadPage(oldest, { isJoined: true }).catch(() => undefined);
  }

  #loadTask(seq: number): Promise<void> {
    return this.#once(`task ${seq}`, async () => {
      const path = `/convoke/tasks/${encodeURIComponent(this.taskId)}?${scope()}&at=${seq}`;
      const { task } = await ask<{ readonly task: unknown }>(path, { signal: this.#abort.signal });
      this.events.setTask(seq, CODECS["0.3"].decodeTask(task));
      this.#refresh();
    });
  }

  #read(after: number, limit: number, isJoined: boolean): Promise<LogAnswer> {
    const join = isJoined ? "&join=chunks" : "";
    const path = `${this.#path}?${scope()}&after=${after}&limit=${limit}${join}`;
    return ask<LogAnswer>(path, { signal: this.#abort.signal });
  }

  get #path(): string {
    return `/convoke/tasks/${encodeURIComponent(this.taskId)}/log`;
  }

  #setFacts(facts: LogFacts): void {
    this.facts.value = facts;
    this.events.head = Math.max(this.events.head, facts.head);
    this.events.isWhole = facts.compacted !== true && about.value?.caller.isOperator === true;
  }

  /** Requests that are under way are not sent again. */
  #once(name: string, load: () => Promise<void>): Promise<void> {
    const started =
      this.#loading.get(name) ?? load().finally(() => void this.#loading.delete(name));
    this.#loading.set(name, started);
    return started;
  }

  async #follow(): Promise<void> {
    const { head } = this.events;
    const task = this.events.taskAt(head);
    if (task === undefined || isTerminal(task.status.state)) return;
    await followEvents(`${this.#path}?${scope()}`, {
      lastEventId: String(head),
      signal: this.#abort.signal,
      onEvent: ({ event, data }) => {
        if (event !== "message") return;
        const entry = parseLine(JSON.parse(data) as LogLine);
        this.events.append(entry);
        const number = pageOf(entry.seq);
        if (this.#exact.at(-1) !== number) this.#keepExact(number);
        this.#refresh();
      },
    }).catch((problem: unknown) => {
      this.problem.value = problem as Error;
    });
  }

  /** Many events may come at once. A timer also runs in hidden tabs, animation frames do not. */
  #refresh(): void {
    const refreshMs =
      this.events.isWhole || this.status.value !== "ready" ? REFRESH_MS : SLOW_REFRESH_MS;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.version.value++;
    }, refreshMs);
  }
}

/** Which tasks reads are about: those of all agents and, for those who may, of all owners. */
export function scope(): string {
  return about.value?.caller.readsAllOwners === true ? "agent=*&owner=*" : "agent=*";
}

/** An event of the read API in the form of the model. */
export function parseLine({ from, seq, at, event }: LogLine): LoggedEvent {
  const { kind } = event as { readonly kind: string };
  const isNote = kind.startsWith("internal:");
  return {
    from: from ?? seq,
    seq,
    at: at === undefined ? undefined : Date.parse(at),
    event: isNote ? (event as LoggedEvent["event"]) : decode(event),
  };
}

function decode(event: unknown): PublicEvent {
  return CODECS["0.3"].decodeEvent(event);
}

/** The task at a position in the form of A2A 0.3, for exports. */
export function encodeTask(task: Task): unknown {
  return CODECS["0.3"].encodeTask(task);
}
