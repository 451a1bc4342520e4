import {
  type ArtifactUpdateEvent,
  type Connection,
  type Message,
  type PublicEvent,
  type Task,
  textOf,
  textOfParts,
} from "@convoke/protocol";
import { type Answer, answerIn } from "./answer.ts";
import type { StreamedEvent, TaskEventSource, TaskSnapshot } from "./task-events.ts";
import { isNotCancelable } from "./failures.ts";
import type { OnNotice } from "./follow-options.ts";
import { View } from "./view.ts";

export interface RunOptions {
  readonly connection: Connection;
  readonly source: TaskEventSource;
  readonly signal?: AbortSignal | undefined;
  readonly onNotice: OnNotice;
}

/**
 * An answer while it is being made, in three views of one connection: the events
 * (`for await (const event of run)`), the text (`run.text`) and the result (`run.result`). Nothing is
 * requested before one of them is used.
 *
 * Only the resulting task is kept, not its events. The slowest view that is being read sets the pace,
 * so do not wait for `result` inside a loop over the events. A view that is read later starts with
 * the current task, or text. Each view can be read once. Leaving the last of them closes the
 * connection; the task continues.
 */
export class Run implements AsyncIterable<PublicEvent>, AsyncDisposable {
  readonly #connection: Connection;
  readonly #source: TaskEventSource;
  readonly #onNotice: OnNotice;
  readonly #abort = new AbortController();
  readonly #signal: AbortSignal;
  readonly #events: View<StreamedEvent, PublicEvent>;
  readonly #deltas: View<string, string>;
  #reading: AsyncGenerator<StreamedEvent, void, undefined> | undefined;
  #textDeltas: TextDeltas | undefined;
  #result: Promise<Answer> | undefined;
  #ended = Promise.withResolvers<void>();
  #end: { readonly error?: unknown } | undefined;
  #isDriving = false;
  #isCut = false;
  #lastReadId: string | undefined;

  constructor({ connection, source, signal, onNotice }: RunOptions) {
    this.#connection = connection;
    this.#source = source;
    this.#onNotice = onNotice;
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
    this.#deltas = new View({ ...hooks, take: (text) => text, onBegin: () => this.#beginText() });
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
   * The text in chunks; can be read once. Joined, they are `(await run.result).text`, unless the
   * agent replaces its text: a notice of kind "rewritten" says from which character on.
   */
  get text(): AsyncIterable<string> {
    return this.#deltas;
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
    this.#textDeltas = new TextDeltas();
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
    if (this.#end !== undefined || this.#events.isFull || this.#deltas.isFull) return false;
    return this.#result !== undefined || this.#events.isWaiting || this.#deltas.isWaiting;
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
    this.#give(this.#textDeltas?.after(event, this.#source.snapshot));
  }

  #give(delta: TextDelta | undefined): void {
    if (delta === undefined) return;
    const { text, from } = delta;
    if (from !== undefined) {
      const message = `the agent replaced its text from character ${from} on`;
      this.#onNotice({ kind: "rewritten", message, from });
    }
    if (text !== "") this.#deltas.put(text);
  }

  #finish(end: { readonly error?: unknown }): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    if (this.#events.isAttached) this.#events.end(end);
    if (this.#deltas.isAttached) this.#endText(end);
    if ("error" in end) this.#ended.reject(end.error);
    else this.#ended.resolve();
  }

  #endText(end: { readonly error?: unknown }): void {
    const { answer, isPartial } = this.#source.snapshot;
    const isComplete = answer !== undefined && !isPartial && !this.#isCut && !("error" in end);
    if (isComplete) this.#give(this.#textDeltas?.atEnd(answer));
    this.#deltas.end(end);
  }

  /** A view was left. The run continues while another is being read or the result is awaited. */
  #leave(): void {
    const isRead = this.#events.isAttached || this.#deltas.isAttached;
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

/** Text to append. With `from`, everything from that character on is replaced first. */
interface TextDelta {
  readonly text: string;
  readonly from?: number;
}

/**
 * The text of an answer as it grows, in the order of `textOf`: joined, the deltas are the text of the
 * result. Status messages are not part of it, except at the end for an agent without artifacts.
 */
class TextDeltas {
  #text = "";
  /** The artifact at the end of the text, to which chunks can be appended. */
  #open: string | undefined;
  readonly #known = new Set<string>();

  /** The delta after an event; the answer is the result of all events so far. */
  after(event: PublicEvent, snapshot: Pick<TaskSnapshot, "answer">): TextDelta | undefined {
    if (event.kind === "status-update") return undefined;
    if (event.kind === "artifact-update") {
      const more = this.#appendable(event);
      if (more !== undefined) return this.#append(this.#text + more, more);
    }
    const { answer } = snapshot;
    if (answer === undefined) return undefined;
    return this.#replaceWith(
      answer.kind === "message" ? textOf(answer) : artifactText(answer),
      answer,
    );
  }

  /** What is still missing, after the last event. */
  atEnd(answer: Task | Message): TextDelta | undefined {
    return this.#replaceWith(textOf(answer), answer);
  }

  /** What a chunk appends; `undefined` if the whole text has to be compared. */
  #appendable({ artifact, append }: ArtifactUpdateEvent): string | undefined {
    const { artifactId, parts } = artifact;
    const text = textOfParts(parts);
    if (artifactId === this.#open && append === true) return text;
    if (this.#known.has(artifactId)) return undefined;
    this.#known.add(artifactId);
    if (text === "") return "";
    this.#open = artifactId;
    return this.#text === "" ? text : `\n${text}`;
  }

  #replaceWith(whole: string, answer: Task | Message): TextDelta | undefined {
    if (answer.kind === "task") this.#rememberArtifacts(answer);
    if (whole.startsWith(this.#text)) return this.#append(whole, whole.slice(this.#text.length));
    const from = commonLength(this.#text, whole);
    this.#text = whole;
    return { text: whole.slice(from), from };
  }

  #rememberArtifacts({ artifacts = [] }: Task): void {
    this.#known.clear();
    for (const { artifactId } of artifacts) this.#known.add(artifactId);
    this.#open = artifacts.findLast(({ parts }) => textOfParts(parts) !== "")?.artifactId;
  }

  #append(whole: string, text: string): TextDelta | undefined {
    this.#text = whole;
    return text === "" ? undefined : { text };
  }
}

/** Before the end only artifacts count: status messages may be about the work in progress. */
function artifactText({ artifacts = [] }: Task): string {
  return artifacts
    .map(({ parts }) => textOfParts(parts))
    .filter((text) => text !== "")
    .join("\n");
}

function commonLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return length;
}
