import {
  A2AError,
  type AgentEvent,
  type Dialect,
  type DialectStream,
  type StatusUpdateEvent,
  type StreamItem,
  type Task,
  isPublic,
  isTerminal,
} from "@convoke/protocol";
import type { Seq } from "../log/backend.ts";
import { LogEntry, readEntry } from "../log/log-entry.ts";
import type { ServedAgent } from "../run/agents.ts";
import type { Engine } from "../run/engine.ts";
import type { LiveTask } from "../run/live-task.ts";
import type { View } from "./caller-view.ts";

/** The events that a streaming operation returns. Each binding encodes them in its own format. */
export interface EventStreamSource {
  readonly engine: Engine;
  /** The agent that the request addresses. The stream ends if it is not served any more. */
  readonly agent: ServedAgent;
  readonly taskId: string;
  readonly owner: string;
  /** The task if it was open when the stream started. Its tail stays in memory after its run has ended. */
  readonly live?: LiveTask | undefined;
  /** The snapshot that comes first, with its last sequence. */
  readonly opening?: { readonly task: Task; readonly seq: Seq };
  /** The stream continues with the events after this sequence. */
  readonly after: Seq;
  /** The stream ends at this sequence, because the task has ended already. */
  readonly end?: Seq;
  /** How many of the events that the first shown event of the log becomes were read before. Default none. */
  readonly skip?: number;
  /** Shows the log in a dialect of the agent. It has seen everything up to `after`. */
  readonly dialect?: DialectStream;
  /** Converts events to what the client receives, if necessary. */
  readonly view?: View;
  /** Whether the stream ends after this event. */
  readonly closesAfter: (event: AgentEvent, seq: Seq) => boolean;
}

/** A stream ends after `final: true`, because the client continues with a new request. */
export function closesAtFinal(event: AgentEvent): boolean {
  if (event.kind !== "status-update") return event.kind === "message";
  return (event as StatusUpdateEvent).final;
}

/** The same for 0.3, whose clients wait for the end of the stream also at a request for authorization. */
export function closesAtQuestion(event: AgentEvent): boolean {
  if (closesAtFinal(event)) return true;
  return (
    event.kind === "status-update" && (event as StatusUpdateEvent).status.state === "auth-required"
  );
}

/** In 1.0 a subscription stays open while the task waits for the client (1.0 §3.1.6). */
export function closesAtTerminal(event: AgentEvent): boolean {
  if (event.kind !== "status-update") return event.kind === "message";
  return isTerminal((event as StatusUpdateEvent).status.state);
}

/** The range of valid cursors of a log. */
export interface CursorRange {
  readonly oldest: Seq;
  readonly head: Seq;
}

/** Parses a cursor. Returns `undefined` if it is not in this log, or has expired. */
export function parseCursor(
  lastEventId: string | undefined,
  { oldest, head }: CursorRange,
): Seq | undefined {
  if (lastEventId === undefined || !/^\d{1,15}$/.test(lastEventId)) return undefined;
  const seq = Number(lastEventId);
  return seq >= oldest && seq <= head ? seq : undefined;
}

/** Where a stream resumes. */
export interface ResumePosition {
  readonly after: Seq;
  /** How many of the events that the next shown event of the log becomes were read. */
  readonly skip?: number;
}

/** Parses the cursor of a stream. In a dialect it may be inside an event; see `LogEntry.cursor`. */
export function parsePosition(
  lastEventId: string | undefined,
  range: CursorRange,
  dialect: Dialect | undefined,
): ResumePosition | undefined {
  const inside = dialect && /^(?<seq>\d+)\.(?<skip>\d{1,4})$/.exec(lastEventId ?? "")?.groups;
  const after = parseCursor(inside ? inside["seq"] : lastEventId, range);
  if (after === undefined) return undefined;
  return { after, ...(inside && { skip: Number(inside["skip"]) }) };
}

/** Tells the client to replace what it has, because its cursor is not in this log. */
export function asReset(task: Task): Task {
  return { ...task, metadata: { ...task.metadata, resumption: "reset" } };
}

/** How many events are read at a time. A slow reader waits between pages, a fast one does not. */
const PAGE = 256;

/** A page ends with the event at which it reaches this length, so that unread pages of large events are small. */
const PAGE_LENGTH = 64 * 1024;

/** Snapshots of tasks as entries, so that all readers that start at one snapshot share its text. */
const OPENINGS = new WeakMap<Task, LogEntry>();

/**
 * Reads the events of a stream. It holds nothing but a cursor: unread events stay
 * in the log, so that memory does not grow with lag (G8: slow readers are bounded).
 */
export class LogReader {
  readonly #source: EventStreamSource;
  #cursor: Seq;
  #hasOpened = false;
  /** The newest commit that this reader knows of, if processes share the storage. */
  #head = 0;
  #skip: number;
  #isEnded = false;

  constructor(source: EventStreamSource) {
    this.#source = source;
    this.#cursor = source.after;
    this.#skip = source.skip ?? 0;
  }

  /** Whether all events of the stream have been read. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** The snapshot that comes before the log. Later calls return nothing. */
  opening(): readonly LogEntry[] {
    const { opening } = this.#source;
    if (this.#hasOpened || opening === undefined) return [];
    this.#hasOpened = true;
    const { task, seq } = opening;
    const known = OPENINGS.get(task);
    if (known?.seq === seq) return this.#viewed([known]);
    const entry = new LogEntry(task, JSON.stringify(task)).at(seq);
    OPENINGS.set(task, entry);
    return this.#viewed([entry]);
  }

  /** The next events. Empty means: wait for the next commit. A promise only if the store is queried. */
  next(): readonly LogEntry[] | Promise<readonly LogEntry[]> {
    if (this.#isEnded) return [];
    const remembered = this.#fromMemory();
    if (remembered !== undefined) return this.#take(remembered);
    return this.#fromStore().then((page) => this.#take(page));
  }

  /** There is a commit up to this sequence. It may be of another process, and not in the memory of this one. */
  committed(head: Seq): void {
    if (this.#source.engine.sharing !== undefined) this.#head = Math.max(this.#head, head);
  }

  /** Events in the memory of the open task. If the task was closed since, there may be newer ones in the store. */
  #fromMemory(): readonly LogEntry[] | undefined {
    const { engine, taskId, live } = this.#source;
    const current = engine.tasks.current(taskId);
    const entries = (current ?? live)?.writer.tail.after(this.#cursor, PAGE);
    const mayBeStored = current === undefined || this.#cursor < this.#head;
    return entries?.length === 0 && mayBeStored ? undefined : entries;
  }

  async #fromStore(): Promise<readonly LogEntry[]> {
    const { engine, taskId, end = 0 } = this.#source;
    const maxLength = this.#isUndecided ? undefined : PAGE_LENGTH;
    const page = await engine.backend.read(taskId, this.#cursor, PAGE, maxLength);
    if (page.length === 0 && this.#cursor < end) {
      throw new A2AError("TaskNotFound", `task ${taskId} was deleted while it was read`);
    }
    if (page[0] !== undefined && page[0].seq !== this.#cursor + 1) {
      // The log was compacted meanwhile. The client reconnects, and gets the snapshot that replaced it.
      this.#isEnded = true;
      return [];
    }
    return page.map(readEntry);
  }

  #take(page: readonly LogEntry[]): readonly LogEntry[] {
    const { closesAfter, end } = this.#source;
    if (this.#isHeldBack(page)) return [];
    const maxLength = this.#isUndecided ? Infinity : PAGE_LENGTH;
    let length = 0;
    let count = 0;
    let closes = false;
    while (count < page.length && length < maxLength && !closes) {
      const { event, seq, json } = page[count++]!;
      length += json.length;
      closes = closesAfter(event, seq);
    }
    const entries = count === page.length ? page : page.slice(0, count);
    this.#cursor = entries.at(-1)?.seq ?? this.#cursor;
    this.#isEnded ||= closes || (end !== undefined && this.#cursor >= end);
    // A reply is the whole answer: it comes without the task (0.3 §7.2, 1.0 §3.1.2).
    const isReply = entries.at(-1)?.event.kind === "message";
    return this.#viewed(this.#inDialect(isReply ? entries.slice(-1) : entries));
  }

  /** Whether the first public event is still to decide if the agent replies without a task. */
  get #isUndecided(): boolean {
    return this.#cursor === 0 && this.#source.agent.info.replies;
  }

  /** Nothing is shown before it is decided. */
  #isHeldBack(page: readonly LogEntry[]): boolean {
    if (page.length === 0 || !this.#isUndecided) return false;
    return page.every(({ event }) => event.kind === "task" || !isPublic(event));
  }

  #inDialect(entries: readonly LogEntry[]): readonly LogEntry[] {
    const { dialect } = this.#source;
    if (dialect === undefined) return entries;
    return entries.flatMap(({ event, seq }) => {
      const shown = dialect.next(event, seq).map((one, index, { length }) => {
        const entry = new LogEntry(one, JSON.stringify(one));
        return entry.at(seq, index + 1 < length ? index + 1 : undefined);
      });
      const skipped = shown.splice(0, this.#skip);
      if (skipped.length > 0) this.#skip = 0;
      return shown;
    });
  }

  #viewed(entries: readonly LogEntry[]): readonly LogEntry[] {
    const { view } = this.#source;
    return view === undefined ? entries : entries.map((entry) => viewEntry(entry, view));
  }
}

function viewEntry(entry: LogEntry, view: View): LogEntry {
  const { event, seq } = entry;
  const viewed = view(event, seq);
  return viewed === event ? entry : entry.with(viewed);
}

/**
 * Reads a stream to its end: yields what is there, then waits for the next commit. Ends early if
 * the engine closes or no longer serves the agent; rejects with the reason of the signal when it fires.
 */
export async function* followLog(
  source: EventStreamSource,
  signal?: AbortSignal,
): AsyncGenerator<readonly LogEntry[], void, undefined> {
  const { engine, agent, taskId } = source;
  const stops = [engine.closing, agent.removed];
  const reader = new LogReader(source);
  let wake = Promise.withResolvers<void>();
  const onWake = (): void => wake.resolve();
  const stopWatching = engine.backend.watch(taskId, (head) => {
    reader.committed(head);
    setImmediate(onWake);
  });
  signal?.addEventListener("abort", onWake, { once: true });
  for (const stop of stops) stop.addEventListener("abort", onWake, { once: true });
  engine.openStreams.open(source);
  try {
    const opening = reader.opening();
    if (opening.length > 0) yield opening;
    while (!reader.isEnded && !stops.some(({ aborted }) => aborted)) {
      signal?.throwIfAborted();
      // Created before the read, so that a commit during the read is not missed.
      wake = Promise.withResolvers();
      const entries = await reader.next();
      if (entries.length > 0) yield entries;
      else if (!reader.isEnded) await wake.promise;
    }
  } finally {
    engine.openStreams.close(source);
    for (const stop of stops) stop.removeEventListener("abort", onWake);
    signal?.removeEventListener("abort", onWake);
    stopWatching();
  }
}

/** The same with the events that clients may see. */
export async function* readEvents(
  source: EventStreamSource,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly StreamItem[], void, undefined> {
  for await (const entries of followLog(source, signal)) yield* publicItems(entries);
}

function* publicItems(entries: readonly LogEntry[]): Generator<readonly StreamItem[]> {
  const items = entries.flatMap(({ event, cursor }): readonly StreamItem[] =>
    isPublic(event) ? [{ kind: "event", event, id: String(cursor) }] : [],
  );
  if (items.length > 0) yield items;
}
