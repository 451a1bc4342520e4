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
import { parseCursor } from "../log/cursor.ts";
import type { FileView } from "../files/task-files.ts";
import { LogEntry, type LogPlace, readEntries } from "../log/log-entry.ts";
import type { ServedAgent } from "../run/agents.ts";
import type { Engine } from "../run/engine.ts";
import type { LiveTask } from "../run/live-task.ts";
import type { View } from "./caller-view.ts";

/** The events that a streaming operation returns. Each binding encodes them in its own format. */
export interface EventStreamSource {
  readonly engine: Engine;
  /** The agent that the request addresses. */
  readonly agent: ServedAgent;
  readonly taskId: string;
  readonly owner: string;
  /** The task if it was open when the stream started. Its tail stays in memory after its run has ended. */
  readonly live?: LiveTask | undefined;
  /** The snapshot that comes first, and the last event in it. */
  readonly opening?: { readonly task: Task } & LogPlace;
  /** The stream continues with the events after this sequence. */
  readonly after: Seq;
  /** The epoch of the event at `after`; see `LogPlace`. */
  readonly afterEpoch?: number | undefined;
  /** The stream ends at this sequence, because the task has ended already. */
  readonly end?: Seq;
  /** How many of the events that the first shown event of the log becomes were read before. Default none. */
  readonly skip?: number;
  /** Shows the log in a dialect of the agent. It has seen everything up to `after`. */
  readonly dialect?: DialectStream;
  /** Converts events to what the client receives, if necessary. */
  readonly view?: View;
  /** How the client gets large files. */
  readonly files?: FileView | undefined;
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

/** The event at a sequence of a log. */
export async function placeAt(engine: Engine, taskId: string, seq: Seq): Promise<LogPlace> {
  if (engine.backend.sharing === undefined || seq === 0) return { seq };
  const remembered = engine.tasks.current(taskId)?.writer.tail.after(seq - 1, 1)?.[0];
  const found = remembered ?? (await engine.backend.read(taskId, seq - 1, 1))[0];
  return { seq, ...(found?.seq === seq && { epoch: found.epoch }) };
}

/** A log, and the range of its cursors that have not expired. */
export interface CursorRange {
  readonly engine: Engine;
  readonly taskId: string;
  readonly oldest: Seq;
  readonly head: Seq;
}

/** Where a stream resumes. */
export interface ResumePosition {
  readonly after: Seq;
  readonly afterEpoch?: number | undefined;
  /** How many of the events that the next shown event of the log becomes were read. */
  readonly skip?: number;
}

/**
 * Looks up the cursor of a client. Resolves to `undefined` if it is not in this log, or has expired.
 * Only in a dialect it may be inside an event.
 */
export async function findCursor(
  lastEventId: string | undefined,
  { engine, taskId, oldest, head }: CursorRange,
  dialect: Dialect | undefined,
): Promise<ResumePosition | undefined> {
  const cursor = lastEventId === undefined ? undefined : parseCursor(lastEventId);
  if (cursor === undefined) return undefined;
  const { seq, shown } = cursor;
  if (shown !== undefined && dialect === undefined) return undefined;
  const after = shown === undefined ? seq : seq - 1;
  if (after < oldest || seq > head) return undefined;
  const { epoch } = await placeAt(engine, taskId, seq);
  // Without an epoch it is from a server that had the storage to itself, or from an older one.
  if (cursor.epoch !== undefined && cursor.epoch !== epoch) return undefined;
  return shown === undefined ? { after, afterEpoch: epoch } : { after, skip: shown };
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
  /** The epoch of the event at the cursor, if it is known. */
  #epoch: number | undefined;
  #hasOpened = false;
  /** The newest commit that this reader knows of, if processes share the storage. */
  #head = 0;
  #skip: number;
  #isEnded = false;
  /** Whether the event at the cursor may not be in the log any more. */
  #mayBeCut = false;

  constructor(source: EventStreamSource) {
    this.#source = source;
    this.#cursor = source.after;
    this.#epoch = source.afterEpoch;
    this.#skip = source.skip ?? 0;
  }

  /** Whether all events of the stream have been read. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** The snapshot that comes before the log. Later calls return nothing. A promise only if it has large files. */
  opening(): readonly LogEntry[] | Promise<readonly LogEntry[]> {
    const { opening } = this.#source;
    if (this.#hasOpened || opening === undefined) return [];
    this.#hasOpened = true;
    const { task, seq, epoch } = opening;
    const known = OPENINGS.get(task);
    if (known?.seq === seq) return this.#viewed([known]);
    const entry = new LogEntry(task, JSON.stringify(task)).at(seq, epoch);
    OPENINGS.set(task, entry);
    return this.#viewed([entry]);
  }

  /**
   * The next events. Empty means: wait for the next commit. A promise only if the store is queried, or
   * if they have large files.
   */
  next(): readonly LogEntry[] | Promise<readonly LogEntry[]> {
    if (this.#isEnded) return [];
    const remembered = this.#mayBeCut ? undefined : this.#fromMemory();
    if (remembered !== undefined && this.#follows(remembered)) return this.#take(remembered);
    return this.#fromStore().then((page) => this.#take(page));
  }

  /** There is a commit up to this sequence. It may be of another process, and not in the memory of this one. */
  committed(head: Seq): void {
    if (this.#source.engine.backend.sharing === undefined) return;
    this.#head = Math.max(this.#head, head);
    this.#mayBeCut ||= head < this.#cursor;
  }

  /**
   * Whether entries follow the one at the cursor for certain: a run that writes knows everything before.
   * Otherwise the end of the log may have been lost and written again.
   */
  #follows([first]: readonly LogEntry[]): boolean {
    return first === undefined || this.#epoch === undefined || first.epoch === this.#epoch;
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
    const entries = readEntries(page);
    const isCompacted = entries[0] !== undefined && entries[0].seq !== this.#cursor + 1;
    if (isCompacted || ((this.#mayBeCut || !this.#follows(entries)) && (await this.#isCut()))) {
      // The client reconnects, and gets the snapshot that replaced the log.
      this.#isEnded = true;
      return [];
    }
    return entries;
  }

  /** Whether the storage has lost the event at the cursor. */
  async #isCut(): Promise<boolean> {
    const { engine, taskId } = this.#source;
    this.#mayBeCut = false;
    if (this.#epoch === undefined) return false;
    const [event] = await engine.backend.read(taskId, this.#cursor - 1, 1);
    return event?.seq !== this.#cursor || event.epoch !== this.#epoch;
  }

  #take(page: readonly LogEntry[]): readonly LogEntry[] | Promise<readonly LogEntry[]> {
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
    const last = entries.at(-1);
    if (last !== undefined) {
      this.#cursor = last.seq;
      this.#epoch = last.epoch;
    }
    this.#isEnded ||= closes || (end !== undefined && this.#cursor >= end);
    // A reply is the whole answer: it comes without the task (0.3 §7.2, 1.0 §3.1.2).
    const isReply = last?.event.kind === "message";
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
    return entries.flatMap(({ event, seq, epoch }) => {
      const shown = dialect.next(event, seq).map((one, index, { length }) => {
        const entry = new LogEntry(one, JSON.stringify(one));
        return entry.at(seq, epoch, index + 1 < length ? index + 1 : undefined);
      });
      const skipped = shown.splice(0, this.#skip);
      if (skipped.length > 0) this.#skip = 0;
      return shown;
    });
  }

  #viewed(entries: readonly LogEntry[]): readonly LogEntry[] | Promise<readonly LogEntry[]> {
    const { view } = this.#source;
    const viewed = view === undefined ? entries : entries.map((entry) => viewEntry(entry, view));
    return viewed.some((entry) => entry.mayHaveReference) ? this.#withFiles(viewed) : viewed;
  }

  async #withFiles(entries: readonly LogEntry[]): Promise<readonly LogEntry[]> {
    const { engine, files } = this.#source;
    const shown: LogEntry[] = [];
    for (const entry of entries) {
      const event = await engine.files.show(entry.event, files);
      shown.push(event === entry.event ? entry : entry.with(event));
    }
    return shown;
  }
}

function viewEntry(entry: LogEntry, view: View): LogEntry {
  const { event, seq } = entry;
  const viewed = view(event, seq);
  return viewed === event ? entry : entry.with(viewed);
}

/**
 * Reads a stream to its end: yields what is there, then waits for the next commit. Ends early if
 * the engine closes; rejects with the reason of the signal when it fires.
 */
export async function* followLog(
  source: EventStreamSource,
  signal?: AbortSignal,
): AsyncGenerator<readonly LogEntry[], void, undefined> {
  const { engine, taskId } = source;
  const reader = new LogReader(source);
  let wake = Promise.withResolvers<void>();
  const onWake = (): void => wake.resolve();
  const stopWatching = engine.backend.watch(taskId, (head) => {
    reader.committed(head);
    setImmediate(onWake);
  });
  signal?.addEventListener("abort", onWake, { once: true });
  engine.closing.addEventListener("abort", onWake, { once: true });
  engine.openStreams.open(source);
  try {
    const opening = await reader.opening();
    if (opening.length > 0) yield opening;
    while (!reader.isEnded && !engine.closing.aborted) {
      signal?.throwIfAborted();
      // Created before the read, so that a commit during the read is not missed.
      wake = Promise.withResolvers();
      const entries = await reader.next();
      if (entries.length > 0) yield entries;
      else if (!reader.isEnded) await wake.promise;
    }
  } finally {
    engine.openStreams.close(source);
    engine.closing.removeEventListener("abort", onWake);
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
