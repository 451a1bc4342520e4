import { A2AError, isPublic } from "@convoke/protocol";
import type { ByteSink, ByteStream, ByteStreamControl } from "../http/exchange.ts";
import {
  type EventSource,
  LogEntry,
  placed,
  readEntry,
  type Seq,
  type View,
} from "@convoke/engine";
import type { Frames, Framing } from "./framing.ts";
import type { KeepAlive, Silence } from "./keep-alive.ts";

/** How many events are joined into one write. A slow reader waits between pages, a fast one does not. */
const PAGE = 256;

export interface EventStreamOptions {
  readonly source: EventSource;
  readonly framing: Framing;
  readonly keepAlive: KeepAlive;
}

/**
 * A reader of one log as a stream of bytes. It is a cursor and a pump: woken
 * after each commit, it writes everything between its cursor and the head in
 * one go, and stops while the client is behind. Memory does not grow with lag,
 * because what was not written is still in the log (G8).
 */
export class EventStream implements ByteStream {
  #options: EventStreamOptions;
  #cursor: Seq;
  #opened = false;
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
    this.#cursor = options.source.after;
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
      this.#writeOpening();
      // Who is woken while it reads looks again: what it reads may be older than what woke it.
      while (this.#hasMore && !this.#ended && !this.#blocked) {
        this.#hasMore = false;
        const entries = this.#fromMemory() ?? (await this.#fromStore());
        if (!this.#ended && this.#writeEntries(entries)) this.#hasMore = true;
      }
    } catch (error) {
      this.#write(this.#options.framing.error(error));
      this.#finish();
    } finally {
      this.#pumping = false;
    }
  }

  #writeOpening(): void {
    const { opening } = this.#options.source;
    if (this.#opened) return;
    this.#opened = true;
    if (opening === undefined) return;
    const { task, seq } = opening;
    this.#writeAll([placed(new LogEntry(task, JSON.stringify(task)), seq)]);
  }

  /** What the task's writer still has. One that has let go of the task knows only what came before. */
  #fromMemory(): readonly LogEntry[] | undefined {
    const { engine, taskId, live } = this.#options.source;
    const current = engine.tasks.get(taskId);
    const entries = (current ?? live)?.writer.tail.after(this.#cursor, PAGE);
    return entries?.length === 0 && current === undefined ? undefined : entries;
  }

  async #fromStore(): Promise<readonly LogEntry[]> {
    const { engine, taskId, end = 0 } = this.#options.source;
    const page = await engine.backend.read(taskId, this.#cursor, PAGE);
    if (page.length === 0 && this.#cursor < end) {
      throw new A2AError("TaskNotFound", `task ${taskId} was forgotten while it was read`);
    }
    return page.map(readEntry);
  }

  /** False when there is nothing to write for now. */
  #writeEntries(page: readonly LogEntry[]): boolean {
    const { source } = this.#options;
    if (this.#isHeldBack(page)) return false;
    const closing = page.findIndex(({ event, seq }) => source.closesAfter(event, seq));
    const entries = closing === -1 ? page : page.slice(0, closing + 1);
    const isReply = entries.at(-1)?.event.kind === "message";
    this.#cursor = entries.at(-1)?.seq ?? this.#cursor;
    // A message is the whole answer: it comes without the task (0.3 §7.2, 1.0 §3.1.2).
    const shown = isReply ? entries.slice(-1) : entries;
    this.#writeAll(shown);
    if (closing !== -1 || (source.end !== undefined && this.#cursor >= source.end)) {
      this.#finish();
      return false;
    }
    return entries.length > 0;
  }

  /** An agent that may reply without a task shows nothing before its first event. */
  #isHeldBack(page: readonly LogEntry[]): boolean {
    const { replies } = this.#options.source.engine.agent.info;
    if (this.#cursor !== 0 || page.length === 0 || !replies) return false;
    // A note may stand beside the task before anything has happened.
    return page.every(({ event }) => event.kind === "task" || !isPublic(event));
  }

  #writeAll(entries: readonly LogEntry[]): void {
    const { source, framing } = this.#options;
    const { view } = source;
    this.#write(
      framing.page(view === undefined ? entries : entries.map((entry) => seen(entry, view))),
    );
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

/** The entry as its reader wants to see it. */
function seen({ event, seq }: LogEntry, view: View): LogEntry {
  const viewed = view(event);
  return placed(new LogEntry(viewed, JSON.stringify(viewed)), seq);
}
