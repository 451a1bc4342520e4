import { A2AError, isPublic } from "@convoke/protocol";
import type { Seq } from "../log/backend.ts";
import { LogEntry, placed, readEntry } from "../log/log-entry.ts";
import type { View } from "./accepted-output.ts";
import type { EventSource } from "./event-source.ts";

/** How many events are read at a time. A slow reader waits between pages, a fast one does not. */
const PAGE = 256;

/**
 * Reads the events that a streaming operation answers with. It is a cursor and
 * nothing else: what was not read yet is still in the log, so that memory does
 * not grow with lag (G8: slow readers are bounded).
 */
export class LogReader {
  readonly #source: EventSource;
  #cursor: Seq;
  #hasOpened = false;
  #isEnded = false;

  constructor(source: EventSource) {
    this.#source = source;
    this.#cursor = source.after;
  }

  /** Whether everything was read that this stream will ever have. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** The snapshot that comes before the log, once. */
  opening(): readonly LogEntry[] {
    const { opening } = this.#source;
    if (this.#hasOpened || opening === undefined) return [];
    this.#hasOpened = true;
    const { task, seq } = opening;
    return this.#viewed([placed(new LogEntry(task, JSON.stringify(task)), seq)]);
  }

  /** What follows the cursor. Nothing means: wait for the next commit. A promise only if the store must be asked. */
  next(): readonly LogEntry[] | Promise<readonly LogEntry[]> {
    if (this.#isEnded) return [];
    const remembered = this.#fromMemory();
    if (remembered !== undefined) return this.#take(remembered);
    return this.#fromStore().then((page) => this.#take(page));
  }

  /** What the task's writer still has. One that has let go of the task knows only what came before. */
  #fromMemory(): readonly LogEntry[] | undefined {
    const { engine, taskId, live } = this.#source;
    const current = engine.tasks.get(taskId);
    const entries = (current ?? live)?.writer.tail.after(this.#cursor, PAGE);
    return entries?.length === 0 && current === undefined ? undefined : entries;
  }

  async #fromStore(): Promise<readonly LogEntry[]> {
    const { engine, taskId, end = 0 } = this.#source;
    const page = await engine.backend.read(taskId, this.#cursor, PAGE);
    if (page.length === 0 && this.#cursor < end) {
      throw new A2AError("TaskNotFound", `task ${taskId} was deleted while it was read`);
    }
    return page.map(readEntry);
  }

  #take(page: readonly LogEntry[]): readonly LogEntry[] {
    const { closesAfter, end } = this.#source;
    if (this.#isHeldBack(page)) return [];
    const closing = page.findIndex(({ event, seq }) => closesAfter(event, seq));
    const entries = closing === -1 ? page : page.slice(0, closing + 1);
    this.#cursor = entries.at(-1)?.seq ?? this.#cursor;
    this.#isEnded = closing !== -1 || (end !== undefined && this.#cursor >= end);
    // A message is the whole answer: it comes without the task (0.3 §7.2, 1.0 §3.1.2).
    const isReply = entries.at(-1)?.event.kind === "message";
    return this.#viewed(isReply ? entries.slice(-1) : entries);
  }

  /** An agent that may reply without a task shows nothing before its first event. */
  #isHeldBack(page: readonly LogEntry[]): boolean {
    const { replies } = this.#source.engine.agent.info;
    if (this.#cursor !== 0 || page.length === 0 || !replies) return false;
    // A note may stand beside the task before anything has happened.
    return page.every(({ event }) => event.kind === "task" || !isPublic(event));
  }

  #viewed(entries: readonly LogEntry[]): readonly LogEntry[] {
    const { view } = this.#source;
    return view === undefined ? entries : entries.map((entry) => seen(entry, view));
  }
}

/** The entry as its reader wants to see it. */
function seen({ event, seq }: LogEntry, view: View): LogEntry {
  const viewed = view(event);
  return placed(new LogEntry(viewed, JSON.stringify(viewed)), seq);
}

/**
 * Reads a source to its end: yields what is there, then waits for the next commit. Ends early when
 * the engine closes; rejects with the reason of the signal when it fires.
 */
export async function* followLog(
  source: EventSource,
  signal?: AbortSignal,
): AsyncGenerator<readonly LogEntry[], void, undefined> {
  const { engine, taskId } = source;
  const reader = new LogReader(source);
  let wake = Promise.withResolvers<void>();
  const onWake = (): void => wake.resolve();
  const stopWatching = engine.backend.watch(taskId, () => setImmediate(onWake));
  signal?.addEventListener("abort", onWake, { once: true });
  engine.closing.addEventListener("abort", onWake, { once: true });
  engine.readers.open(taskId);
  try {
    const opening = reader.opening();
    if (opening.length > 0) yield opening;
    while (!reader.isEnded && !engine.closing.aborted) {
      signal?.throwIfAborted();
      // Created before the read: a commit during the read must not be missed.
      wake = Promise.withResolvers();
      const entries = await reader.next();
      if (entries.length > 0) yield entries;
      else if (!reader.isEnded) await wake.promise;
    }
  } finally {
    engine.readers.close(taskId);
    engine.closing.removeEventListener("abort", onWake);
    signal?.removeEventListener("abort", onWake);
    stopWatching();
  }
}
