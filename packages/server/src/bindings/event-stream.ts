import { type EventSource, type LogEntry, LogReader } from "@convoke/engine";
import type { ByteSink, ByteStream, ByteStreamControl } from "../http/exchange.ts";
import type { Frames, Framing } from "./framing.ts";
import type { KeepAlive, Silence } from "./keep-alive.ts";

export interface EventStreamOptions {
  readonly source: EventSource;
  readonly framing: Framing;
  readonly keepAlive: KeepAlive;
}

/**
 * The events of a log as a stream of bytes. It is a pump: woken after each
 * commit, it writes everything between the reader's cursor and the head in one
 * go, and stops while the client is behind.
 */
export class EventStream implements ByteStream {
  readonly #options: EventStreamOptions;
  readonly #reader: LogReader;
  #pumping = false;
  /** There may be something to write. */
  #hasMore = false;
  #blocked = false;
  #ended = false;
  #wakeScheduled = false;
  #sink: ByteSink | undefined;
  #stopWatching: () => void = () => undefined;
  #silence: Silence | undefined;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#reader = new LogReader(options.source);
  }

  open(sink: ByteSink): ByteStreamControl {
    const { source, keepAlive } = this.#options;
    this.#sink = sink;
    // Watching begins before the first read, so a commit in between wakes us.
    this.#stopWatching = source.engine.backend.watch(source.taskId, () => this.#wake());
    this.#silence = keepAlive.watch(() => this.#write(this.#options.framing.alive));
    source.engine.readers.open(source.taskId);
    source.engine.closing.addEventListener("abort", this.#onClosing, { once: true });
    // A transport may open it late, when nobody would be told any more.
    if (source.engine.closing.aborted) this.#onClosing();
    void this.#pump();
    return {
      drained: () => {
        this.#blocked = false;
        void this.#pump();
      },
      closed: () => this.#end(),
    };
  }

  /** Commits of one turn of the event loop are written together. */
  #wake(): void {
    if (this.#wakeScheduled) return;
    this.#wakeScheduled = true;
    setImmediate(() => {
      this.#wakeScheduled = false;
      void this.#pump();
    });
  }

  async #pump(): Promise<void> {
    this.#hasMore = true;
    if (this.#pumping) return;
    this.#pumping = true;
    try {
      this.#writePage(this.#reader.opening());
      // If a commit wakes us during a read, read again: the page may predate that commit.
      while (this.#hasMore && !this.#ended && !this.#blocked) {
        this.#hasMore = false;
        const page = this.#reader.next();
        const entries = page instanceof Promise ? await page : page;
        this.#writePage(entries);
        if (this.#reader.isEnded) this.#finish();
        else if (entries.length > 0) this.#hasMore = true;
      }
    } catch (error) {
      this.#write(this.#options.framing.error(error));
      this.#finish();
    } finally {
      this.#pumping = false;
    }
  }

  #writePage(entries: readonly LogEntry[]): void {
    if (entries.length > 0) this.#write(this.#options.framing.page(entries));
  }

  #write(frames: Frames): void {
    if (frames.length === 0 || this.#ended || this.#sink === undefined) return;
    this.#silence?.broken();
    this.#blocked = !this.#sink.write(frames);
  }

  #finish(): void {
    if (this.#ended) return;
    this.#end();
    this.#sink?.end();
  }

  /** The server stops: the reader comes back after a moment and goes on after its cursor. */
  readonly #onClosing = (): void => {
    this.#write(this.#options.framing.reconnect());
    this.#finish();
  };

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    const { engine, taskId } = this.#options.source;
    engine.readers.close(taskId);
    engine.closing.removeEventListener("abort", this.#onClosing);
    this.#stopWatching();
    this.#silence?.stop();
  }
}
