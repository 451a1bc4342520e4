import {
  type Connection,
  type Message,
  type PublicEvent,
  type Task,
  textOf,
  textOfParts,
} from "@convoke/protocol";
import { type Answer, answerIn } from "./answer.ts";
import type { StreamedEvent, TaskEventSource } from "./task-events.ts";
import { isNotCancelable } from "./failures.ts";
import { View } from "./view.ts";

export interface RunOptions {
  readonly connection: Connection;
  readonly source: TaskEventSource;
  readonly signal?: AbortSignal | undefined;
}

/** Text of an answer. The pieces of an artifact make up its text. */
export interface TextPiece {
  /** The artifact that the text belongs to; `undefined` if the agent answers with a message or a status. */
  readonly artifactId: string | undefined;
  readonly text: string;
  /** Whether the artifact begins again: drop what you had of it. */
  readonly replaces: boolean;
}

/** How a reader says to a person that an artifact begins again. Every reader of Convoke uses these words. */
export const BEGINS_AGAIN = "The agent starts this part of its answer again.";

/**
 * An answer while it is being made, in three views of one connection: the events
 * (`for await (const event of run)`), the text (`run.text` or `run.pieces`) and the result
 * (`run.result`). Nothing is requested before one of them is used.
 *
 * Only the resulting task is kept, not its events. The slowest view that is being read sets the pace,
 * so do not wait for `result` inside a loop over the events. A view that is read later starts with
 * the current task, or text. Each view can be read once. Leaving the last of them closes the
 * connection; the task continues.
 */
export class Run implements AsyncIterable<PublicEvent>, AsyncDisposable {
  readonly #connection: Connection;
  readonly #source: TaskEventSource;
  readonly #abort = new AbortController();
  readonly #signal: AbortSignal;
  readonly #events: View<StreamedEvent, PublicEvent>;
  readonly #pieces: View<TextPiece, TextPiece>;
  #reading: AsyncGenerator<StreamedEvent, void, undefined> | undefined;
  #pieceReader: PieceReader | undefined;
  #result: Promise<Answer> | undefined;
  #ended = Promise.withResolvers<void>();
  #end: { readonly error?: unknown } | undefined;
  #isDriving = false;
  #isCut = false;
  #lastReadId: string | undefined;

  constructor({ connection, source, signal }: RunOptions) {
    this.#connection = connection;
    this.#source = source;
    this.#signal = signal ? AbortSignal.any([signal, this.#abort.signal]) : this.#abort.signal;
    this.#lastReadId = source.lastEventId;
    // Mark the rejection as handled: a result that is never read must not crash the process.
    this.#ended.promise.catch(() => undefined);
    const hooks = { onRead: () => this.#drive(), onLeave: () => this.#leave() };
    this.#events = new View({
      ...hooks,
      take: ({ event, id }) => {
        this.#lastReadId = id || this.#lastReadId;
        return event;
      },
      onBegin: () => this.#beginEvents(),
    });
    this.#pieces = new View({ ...hooks, take: (piece) => piece, onBegin: () => this.#beginText() });
  }

  /** The id of the task; `undefined` until the agent sends it, or if it replies without a task. */
  get taskId(): string | undefined {
    return this.#source.snapshot.taskId;
  }

  get contextId(): string | undefined {
    return this.#source.snapshot.contextId;
  }

  /** The id of the last event that was read; `subscribe` resumes after it. */
  get lastEventId(): string | undefined {
    return this.#events.isAttached ? this.#lastReadId : this.#source.lastEventId;
  }

  /** The task as of the events so far. */
  get task(): Task | undefined {
    return this.#source.snapshot.task;
  }

  /**
   * The text as it arrives, for a person to read; can be read once. It never takes anything back: an
   * artifact that begins again, and text of another artifact, is on a new line. A program that keeps
   * the text reads `pieces`, or takes `(await run.result).text`.
   */
  get text(): AsyncIterable<string> {
    return readableText(this.#pieces);
  }

  /**
   * The text as it arrives, with the artifact that it belongs to. Read either this or `text`, once.
   *
   * @example
   * const texts = new Map<string | undefined, string>();
   * for await (const { artifactId, text, replaces } of run.pieces) {
   *   const before = replaces ? "" : (texts.get(artifactId) ?? "");
   *   texts.set(artifactId, before + text);
   * }
   */
  get pieces(): AsyncIterable<TextPiece> {
    return this.#pieces;
  }

  /** The complete answer, once the task has ended or waits for its caller. Reading it drives the run. */
  get result(): Promise<Answer> {
    this.#result ??= this.#complete();
    // Mark the rejection as handled so that an unobserved result cannot crash the process.
    this.#result.catch(() => undefined);
    this.#drive();
    return this.#result;
  }

  [Symbol.asyncIterator](): AsyncIterator<PublicEvent, void, undefined> {
    return this.#events;
  }

  /**
   * Cancels the task at the agent and resolves to the updated task. The run
   * continues to its end. Resolves to `undefined` if the answer is a message, or if
   * the run had not started: then it never starts.
   */
  async cancel(): Promise<Task | undefined> {
    if (this.#reading === undefined && !this.#isDriving) {
      await this[Symbol.asyncDispose]();
      return undefined;
    }
    while (this.taskId === undefined && this.#end === undefined) await this.#pull();
    const { taskId } = this;
    if (taskId === undefined) return undefined;
    try {
      return await this.#connection.call("cancelTask", { taskId });
    } catch (error) {
      if (!isNotCancelable(error)) throw error;
      return this.#connection.call("getTask", { taskId });
    }
  }

  /** Closes the connection; the task continues. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isCut ||= this.#end === undefined;
    this.#finish({});
    this.#abort.abort(new Error("the run is closed"));
    const closed = this.#reading?.return().catch(() => undefined);
    // A pending read may wait for a callback of the user; do not wait for it.
    if (!this.#isDriving) await closed;
  }

  /** A view that is read late starts with the current task as one event. */
  #beginEvents(): void {
    const { answer, isPartial } = this.#source.snapshot;
    const id = this.#source.lastEventId ?? "";
    if (answer !== undefined && !isPartial) this.#events.put({ event: answer, id });
    if (this.#end !== undefined) this.#events.end(this.#end);
  }

  #beginText(): void {
    this.#pieceReader = new PieceReader();
    const { answer } = this.#source.snapshot;
    if (answer !== undefined) this.#tell(answer);
    if (this.#end !== undefined) this.#endText(this.#end);
  }

  /** Reads as long as a view wants more and none has unread values. */
  #drive(): void {
    if (this.#isDriving) return;
    this.#takeReady();
    if (this.#mayPull) void this.#wait();
  }

  async #wait(): Promise<void> {
    this.#isDriving = true;
    // Views that are first read in the same tick start together.
    await Promise.resolve();
    while (this.#mayPull) {
      await this.#pull();
      this.#takeReady();
    }
    this.#isDriving = false;
  }

  /** Uses events that have already arrived, without awaiting. */
  #takeReady(): void {
    try {
      while (this.#mayPull && !this.#signal.aborted) {
        const taken = this.#source.takeBuffered?.();
        if (taken === undefined) return;
        this.#use(taken);
      }
    } catch (error) {
      this.#finish({ error });
    }
  }

  get #mayPull(): boolean {
    if (this.#end !== undefined || this.#events.isFull || this.#pieces.isFull) return false;
    return this.#result !== undefined || this.#events.isWaiting || this.#pieces.isWaiting;
  }

  async #pull(): Promise<void> {
    try {
      this.#reading ??= this.#source.read(this.#signal);
      const { done, value } = await this.#reading.next();
      if (done === true) this.#finish({});
      else this.#use(value);
    } catch (error) {
      this.#finish({ error });
    }
  }

  #use(streamed: StreamedEvent): void {
    if (this.#events.isAttached) this.#events.put(streamed);
    this.#tell(streamed.event);
  }

  #tell(event: PublicEvent): void {
    this.#give(this.#pieceReader?.after(event, this.#source.snapshot.isPartial));
  }

  #give(pieces: readonly TextPiece[] = []): void {
    for (const piece of pieces) this.#pieces.put(piece);
  }

  #finish(end: { readonly error?: unknown }): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    if (this.#events.isAttached) this.#events.end(end);
    if (this.#pieces.isAttached) this.#endText(end);
    if ("error" in end) this.#ended.reject(end.error);
    else this.#ended.resolve();
  }

  #endText(end: { readonly error?: unknown }): void {
    const { answer, isPartial } = this.#source.snapshot;
    const isComplete = answer !== undefined && !isPartial && !this.#isCut && !("error" in end);
    if (isComplete) this.#give(this.#pieceReader?.atEnd(answer));
    this.#pieces.end(end);
  }

  /** A view was left. The run continues while another is being read or the result is awaited. */
  #leave(): void {
    const isRead = this.#events.isAttached || this.#pieces.isAttached;
    if (isRead || this.#result !== undefined) this.#drive();
    else void this[Symbol.asyncDispose]();
  }

  async #complete(): Promise<Answer> {
    await this.#ended.promise;
    const { snapshot } = this.#source;
    if (this.#isCut && !snapshot.isAtRest) {
      throw new Error(
        "the run was left before its answer was complete; remote.subscribe(run.taskId) continues it",
      );
    }
    return answerIn(snapshot, this.#connection);
  }
}

/**
 * The text of an answer as it arrives, artifact by artifact. Status messages are not part of it, except
 * at the end for an agent without artifacts.
 */
class PieceReader {
  /** The text so far of each artifact, and of an answer without artifacts. */
  readonly #texts = new Map<string | undefined, string>();

  /**
   * The text that an event adds.
   *
   * @param isPartial whether earlier events are missing, so that an artifact may be known to the reader
   */
  after(event: PublicEvent, isPartial: boolean): readonly TextPiece[] {
    switch (event.kind) {
      case "status-update":
        return [];
      case "message":
        return this.#whole(undefined, textOf(event));
      case "task":
        return this.#artifactsOf(event);
      default: {
        const { artifactId, parts } = event.artifact;
        const text = textOfParts(parts);
        return event.append === true
          ? this.#more(artifactId, text)
          : this.#whole(artifactId, text, isPartial);
      }
    }
  }

  /** The text of an answer that has none in its artifacts. */
  atEnd(answer: Task | Message): readonly TextPiece[] {
    const hasText = [...this.#texts.values()].some((text) => text !== "");
    return hasText ? [] : this.#whole(undefined, textOf(answer));
  }

  #artifactsOf({ artifacts = [] }: Task): readonly TextPiece[] {
    const kept = new Set(artifacts.map(({ artifactId }) => artifactId));
    const lost = [...this.#texts.keys()].filter((id) => id !== undefined && !kept.has(id));
    return [
      ...lost.flatMap((id) => this.#whole(id, "")),
      ...artifacts.flatMap(({ artifactId, parts }) => this.#whole(artifactId, textOfParts(parts))),
    ];
  }

  #more(artifactId: string, text: string): readonly TextPiece[] {
    this.#texts.set(artifactId, `${this.#texts.get(artifactId) ?? ""}${text}`);
    return text === "" ? [] : [{ artifactId, text, replaces: false }];
  }

  /** The whole text of an artifact: more of what is known, or another text in its place. */
  #whole(artifactId: string | undefined, text: string, mayBeKnown = false): readonly TextPiece[] {
    const known = this.#texts.get(artifactId);
    this.#texts.set(artifactId, text);
    const replaces = known === undefined ? mayBeKnown : !text.startsWith(known);
    const more = replaces ? text : text.slice(known?.length ?? 0);
    return more === "" && !replaces ? [] : [{ artifactId, text: more, replaces }];
  }
}

/** The pieces as one text that is only appended to: another artifact, or one that begins again, is on a new line. */
async function* readableText(pieces: AsyncIterable<TextPiece>): AsyncGenerator<string, void> {
  let before: TextPiece | undefined;
  for await (const piece of pieces) {
    if (piece.text === "") continue;
    const continues = before?.artifactId === piece.artifactId && !piece.replaces;
    yield before === undefined || continues ? piece.text : `\n${piece.text}`;
    before = piece;
  }
}
