import {
  type EventStreamSource,
  type LogEntry,
  type Seq,
  type ServedAgent,
  streamDisconnected,
} from "@convoke/engine";
import type { ByteSink, ByteStream, ByteStreamControl } from "../http/exchange.ts";
import {
  type Codec,
  SSE_KEEP_ALIVE,
  SSE_RECONNECT,
  sseFrame,
  sseNamedFrame,
} from "@convoke/protocol";
import { MAX_TIMER_MS, type Member, ShortLivedSet } from "@convoke/protocol/internal";

/** The headers of a response with server-sent events. */
export const SSE_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache",
  connection: "keep-alive",
  // Disables the response buffering of nginx and similar proxies.
  "x-accel-buffering": "no",
} as const;

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

type Source = Pick<EventStreamSource, "engine" | "agent" | "taskId" | "owner">;

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
    if (source.engine.closing.aborted || source.agent.removed.aborted) this.onClosing();
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

/** The open streams of each agent. */
const OPEN = new WeakMap<ServedAgent, ShortLivedSet<Open>>();

/**
 * The open streams of an agent, which all end when it is removed or the engine closes. They share two
 * listeners, because listeners of their own would take as much memory as the stream itself.
 */
function openStreams({ engine, agent }: Source): ShortLivedSet<Open> {
  const known = OPEN.get(agent);
  if (known !== undefined) return known;
  const streams = new ShortLivedSet<Open>();
  OPEN.set(agent, streams);
  const close = (): void => {
    for (const stream of streams) stream.onClosing();
  };
  engine.closing.addEventListener("abort", close, ONCE);
  agent.removed.addEventListener(
    "abort",
    () => {
      engine.closing.removeEventListener("abort", close);
      close();
    },
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
  for (const stream of streams) stream.onTurn();
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

interface SseFramingOptions {
  readonly codec: Codec;
  /** The envelope of each event. */
  readonly prefix: string;
  readonly suffix: string;
  /** Converts the JSON of each event. Default: it is sent as it is. */
  readonly convert?: (event: string) => string;
  /** Encodes an error as JSON on one line. */
  readonly errorText: (thrown: unknown) => string;
}

/** What `sseFrame` puts after the suffix. */
const FRAME_END = "\n\n";

/** Encodes events as server-sent events, each with its sequence as `id`. */
export class SseFraming implements Framing {
  readonly keepAlive = SSE_KEEP_ALIVE;
  readonly #options: SseFramingOptions;

  constructor(options: SseFramingOptions) {
    this.#options = options;
  }

  page(entries: readonly LogEntry[]): string {
    const { codec, prefix, suffix, convert } = this.#options;
    let frames = "";
    for (const entry of entries) {
      const text = entry.text(codec);
      if (text === undefined) continue;
      frames += sseFrame(
        entry.cursor,
        prefix,
        convert === undefined ? text : convert(text),
        suffix,
      );
    }
    return frames;
  }

  pieces(entry: LogEntry): readonly string[] {
    const { codec, prefix, suffix } = this.#options;
    const text = entry.text(codec);
    if (text === undefined) return [];
    const around = sseFrame(entry.cursor, prefix, "", suffix);
    const middle = around.length - suffix.length - FRAME_END.length;
    return [around.slice(0, middle), text, around.slice(middle)];
  }

  error(thrown: unknown): string {
    return sseNamedFrame("error", this.#options.errorText(thrown));
  }

  reconnect(): string {
    return SSE_RECONNECT;
  }
}

/** The shared timer fires this many times per interval. */
const TICKS = 3;

/** A connection that may be idle. */
interface Idle {
  onIdle(): void;
}

/** Detects when a connection is idle. */
class IdleTimer {
  #ticks = 0;
  readonly #idle: Idle;
  readonly #running: RunningTimers;
  readonly #place: Member<IdleTimer>;

  constructor(idle: Idle, running: RunningTimers) {
    this.#idle = idle;
    this.#running = running;
    this.#place = running.add(this);
  }

  stop(): void {
    this.#running.delete(this.#place);
  }

  /** Something was written, so the idle time starts over. */
  reset(): void {
    this.#ticks = 0;
  }

  tick(): void {
    if (++this.#ticks < TICKS) return;
    this.#ticks = 0;
    this.#idle.onIdle();
  }
}

/** The idle timers that run. */
interface RunningTimers {
  add(timer: IdleTimer): Member<IdleTimer>;
  delete(place: Member<IdleTimer>): void;
}

/** One interval timer for all idle timers. It runs only while there are any. */
export class KeepAlive {
  readonly #intervalMs: number;
  readonly #idleTimers = new ShortLivedSet<IdleTimer>();
  readonly #running: RunningTimers = {
    add: (timer) => this.#idleTimers.add(timer),
    delete: (place) => this.#stop(place),
  };
  #timer: NodeJS.Timeout | undefined;

  /** @param intervalMs the idle time. Default 15 s: many proxies drop idle connections at 30 s. 0 disables keep-alives. */
  constructor(intervalMs = 15_000) {
    if (!(intervalMs >= 0 && intervalMs <= MAX_TIMER_MS)) {
      throw new RangeError(
        `keepAliveMs must be from 0 (never) to ${MAX_TIMER_MS}, not ${intervalMs}`,
      );
    }
    this.#intervalMs = intervalMs;
  }

  /** Calls `onIdle` whenever the timer was not reset for about the interval. */
  start(idle: Idle): IdleTimer {
    const idleTimer = new IdleTimer(idle, this.#running);
    // An interval of 0 would fire continuously.
    if (this.#intervalMs === 0) return idleTimer;
    this.#timer ??= setInterval(() => this.#tick(), this.#intervalMs / TICKS).unref();
    return idleTimer;
  }

  #stop(stopped: Member<IdleTimer>): void {
    this.#idleTimers.delete(stopped);
    if (this.#idleTimers.isEmpty) this.close();
  }

  /** Stops a timer whose callback throws: the connection cannot be written to, and the error would crash the process. */
  #tick(): void {
    for (const idleTimer of this.#idleTimers) {
      try {
        idleTimer.tick();
      } catch {
        idleTimer.stop();
      }
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
