import {
  type EventStreamSource,
  type LogEntry,
  type Seq,
  type Engine,
  streamDisconnected,
} from "@convoke/engine";
import type { ByteSink, ByteStream, ByteStreamControl } from "../http/exchange.ts";
import { type Member, ShortLivedSet } from "@convoke/protocol/internal";
import type { IdleTimer, KeepAlive } from "./keep-alive.ts";

/** An entry of a stream. The length of its JSON decides how it is written. */
interface StreamEntry {
  readonly json: string;
}

/** Reads the entries of a stream, as `LogReader` does. */
export interface EntryReader<Entry extends StreamEntry> {
  /** Whether all entries have been read. */
  readonly isEnded: boolean;
  /** What comes before the log. Called once. */
  opening(): Page<Entry>;
  /** Called with the end of the log after each commit. */
  committed?(head: Seq): void;
  /** The next entries. Empty means: wait for the next commit. */
  next(): Page<Entry>;
}

type Page<Entry> = readonly Entry[] | Promise<readonly Entry[]>;

type Source = Pick<EventStreamSource, "engine" | "taskId" | "owner">;

export interface EventStreamOptions<Entry extends StreamEntry = LogEntry> {
  /** The task whose commits wake the stream, its agent, and the owner that reads it. */
  readonly source: Source;
  readonly reader: EntryReader<Entry>;
  readonly framing: Framing<Entry>;
  readonly keepAlive: KeepAlive;
  /**
   * Whether the client only observes the task, so that its connection says nothing about whether
   * anyone waits for the result. Default false.
   */
  readonly isObserver?: boolean;
}

/** What an observer's stream counts as. Others do not count it as a client of the task. */
export function observerOf(taskId: string): string {
  return `observers of ${taskId}`;
}

/**
 * Streams the events of a log. Each commit wakes it; then it writes everything
 * between its cursor and the head of the log, and pauses while the client is slow.
 */
export class EventStream<Entry extends StreamEntry = LogEntry>
  implements ByteStream, ByteStreamControl
{
  readonly #options: EventStreamOptions<Entry>;
  readonly #counted: { readonly taskId: string; readonly owner: string };
  #pumping = false;
  #hasOpened = false;
  /** Whether there may be something to write. */
  #hasMore = false;
  #blocked = false;
  #ended = false;
  #wakeScheduled = false;
  #sink: ByteSink | undefined;
  #stopWatching: () => void = () => undefined;
  #idleTimer: IdleTimer | undefined;
  /** Its place among the open streams of the agent. */
  #place: Member<Open> | undefined;
  /** Frames that are too large for one write; the first is written up to `#sent`. */
  readonly #unsent: Frames[] = [];
  #sent = 0;

  constructor(options: EventStreamOptions<Entry>) {
    this.#options = options;
    const { source, isObserver = false } = options;
    this.#counted = isObserver
      ? { owner: source.owner, taskId: observerOf(source.taskId) }
      : source;
  }

  open(sink: ByteSink): ByteStreamControl {
    const { source, keepAlive } = this.#options;
    this.#sink = sink;
    // Watch before the first read, so that a commit in between wakes us.
    this.#stopWatching = source.engine.backend.watch(source.taskId, (head) => {
      this.#options.reader.committed?.(head);
      this.#wake();
    });
    this.#idleTimer = keepAlive.start(this);
    source.engine.openStreams.open(this.#counted);
    this.#place = openStreams(source).add(this);
    // The engine may have closed before the transport opened the stream.
    if (source.engine.closing.aborted) this.onClosing();
    this.#pump();
    return this;
  }

  drained(): void {
    this.#blocked = false;
    this.#flush();
    this.#pump();
  }

  /** In the middle of a frame, a keep-alive would become a part of it. */
  onIdle(): void {
    if (this.#unsent.length === 0) this.#write(this.#options.framing.keepAlive);
  }

  /** The engine closes, or no longer serves the agent: the client reconnects and resumes after its cursor. */
  onClosing(): void {
    // The client cannot use the beginning of a frame, and ignores it.
    if (this.#unsent.splice(0).length === 0) this.#write(this.#options.framing.reconnect());
    this.#finish();
  }

  /** Does not wait for the turn in which all streams that commits have woken are called. */
  flush(): void {
    if (this.#wakeScheduled) this.#pump();
  }

  /** Called in the turn of the event loop after commits have woken it. */
  onTurn(): void {
    this.#wakeScheduled = false;
    this.#pump();
  }

  closed(): void {
    if (this.#ended) return;
    this.#end();
    const { source, isObserver = false } = this.#options;
    if (!isObserver) streamDisconnected(source.engine, source.taskId);
  }

  /** Ends the stream with an error. */
  fail(error: unknown): void {
    this.#unsent.length = 0;
    this.#write(this.#options.framing.error(error));
    this.#finish();
  }

  /** Commits within one turn of the event loop are written together. */
  #wake(): void {
    if (this.#wakeScheduled) return;
    this.#wakeScheduled = true;
    callSoon(this);
  }

  /** Writes what there is to read. No promise is created for what is in memory. */
  #pump(): void {
    this.#hasMore = true;
    if (this.#pumping) return;
    this.#pumping = true;
    try {
      // All was read before, but a large frame was not written to its end yet.
      if (this.#options.reader.isEnded) this.#finish();
      let page: Page<Entry> | undefined;
      while ((page = this.#nextPage()) !== undefined) {
        if (page instanceof Promise) return void this.#pumpLater(page);
        this.#take(page);
      }
    } catch (error) {
      this.fail(error);
    }
    this.#pumping = false;
  }

  async #pumpLater(page: Promise<readonly Entry[]>): Promise<void> {
    try {
      this.#take(await page);
    } catch (error) {
      this.fail(error);
    }
    this.#pumping = false;
    if (this.#hasMore) this.#pump();
  }

  #nextPage(): Page<Entry> | undefined {
    const { reader } = this.#options;
    if (!this.#hasMore || this.#ended || this.#blocked) return undefined;
    if (!this.#hasOpened) {
      this.#hasOpened = true;
      return reader.opening();
    }
    // If a commit wakes us during a read, read again: the page may predate that commit.
    this.#hasMore = false;
    return reader.next();
  }

  #take(entries: readonly Entry[]): void {
    this.#writePage(entries);
    if (this.#options.reader.isEnded) this.#finish();
    else if (entries.length > 0) this.#hasMore = true;
  }

  #writePage(entries: readonly Entry[]): void {
    const { framing } = this.#options;
    const last = entries.at(-1);
    if (last === undefined) return;
    if (last.json.length <= CHUNK) return this.#write(framing.page(entries));
    if (entries.length > 1) this.#write(framing.page(entries.slice(0, -1)));
    // Streams share the text of a large event until it is written, so it must not be copied here.
    this.#unsent.push(...framing.pieces(last).filter(({ length }) => length > 0));
    this.#flush();
  }

  #write(frames: Frames): void {
    if (frames.length === 0 || this.#ended || this.#sink === undefined) return;
    this.#idleTimer?.reset();
    this.#blocked = !this.#sink.write(frames);
  }

  /** Writes large frames piece by piece, as the client reads them. */
  #flush(): void {
    while (!this.#blocked && !this.#ended && this.#unsent.length > 0) {
      const frames = this.#unsent[0]!;
      const end = endOfChunk(frames, this.#sent + CHUNK);
      this.#write(frames.slice(this.#sent, end));
      this.#sent = end < frames.length ? end : 0;
      if (this.#sent === 0) this.#unsent.shift();
    }
  }

  /** Ends the stream, after the rest of a large frame is written. */
  #finish(): void {
    if (this.#ended || this.#unsent.length > 0) return;
    this.#end();
    this.#sink?.end();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    const { source } = this.#options;
    source.engine.openStreams.close(this.#counted);
    if (this.#place !== undefined) openStreams(source).delete(this.#place);
    this.#stopWatching();
    this.#idleTimer?.stop();
  }
}

const ONCE = { once: true } as const;

interface Open {
  onClosing(): void;
}

/** The open streams of each engine. */
const OPEN = new WeakMap<Engine, ShortLivedSet<Open>>();

/**
 * The open streams of an engine, which all end when it closes. They share a listener, because
 * listeners of their own would take as much memory as the stream itself.
 */
function openStreams({ engine }: Source): ShortLivedSet<Open> {
  const known = OPEN.get(engine);
  if (known !== undefined) return known;
  const streams = new ShortLivedSet<Open>();
  OPEN.set(engine, streams);
  engine.closing.addEventListener(
    "abort",
    () => streams.forEach((stream) => attempt(stream, "onClosing")),
    ONCE,
  );
  return streams;
}

/** The streams that commits of this turn of the event loop have woken. */
let woken: Woken[] = [];

interface Woken {
  onTurn(): void;
}

function callSoon(stream: Woken): void {
  if (woken.push(stream) === 1) setImmediate(callWoken);
}

function callWoken(): void {
  const streams = woken;
  woken = [];
  for (const stream of streams) attempt(stream, "onTurn");
}

/** A stream that throws is a bug, reported as a warning so that it does not affect the other streams. */
function attempt<Method extends string>(stream: Record<Method, () => void>, method: Method): void {
  try {
    stream[method]();
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : new Error(String(error)));
  }
}

/** The largest frame that is written at once. */
const CHUNK = 64 * 1024;

/** Does not split a character that is encoded as a surrogate pair. */
function endOfChunk(frames: Frames, end: number): number {
  if (typeof frames !== "string" || end >= frames.length) return end;
  const code = frames.charCodeAt(end - 1);
  return code >= 0xd800 && code <= 0xdbff ? end + 1 : end;
}

/** Encoded events: text over HTTP, bytes over gRPC. */
type Frames = string | Uint8Array;

/** Encodes events for one binding and version. */
export interface Framing<Entry = LogEntry> {
  /** Encodes events. Internal events are left out. */
  page(entries: readonly Entry[]): Frames;
  /** Encodes a large event as frames that belong together. Empty frames are left out. */
  pieces(entry: Entry): readonly Frames[];
  /** Encodes the error that ends the stream, if the log cannot be read. */
  error(thrown: unknown): Frames;
  /** Sent on an idle stream. Empty if the transport has its own keep-alive. */
  readonly keepAlive: Frames;
  /** Tells the client to reconnect, because the server stops but the task does not. */
  reconnect(): Frames;
}
