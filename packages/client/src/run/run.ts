import type { Connection, Message, PublicEvent, Task } from "@convoke/protocol";
import { type Answer, toAnswer } from "./answer.ts";
import type { TaskEventSource, StreamedEvent } from "./task-events.ts";
import { isNotCancelable } from "./failures.ts";
import type { OnNotice } from "./follow-options.ts";
import { type TextDelta, TextDeltas } from "./text-deltas.ts";
import { View } from "./view.ts";

export interface RunOptions {
  readonly connection: Connection;
  readonly source: TaskEventSource;
  readonly signal?: AbortSignal | undefined;
  readonly onNotice: OnNotice;
}

/**
 * An answer as it comes, in three views of one connection: the events
 * (`for await (const event of run)`), the text (`run.text`) and the whole
 * (`run.result`). Nothing is requested before one of them is used.
 *
 * Nothing is kept but what the events add up to. The slowest view that is being
 * read sets the pace, so do not wait for `result` inside a loop over the events.
 * Who begins to read later gets the task, or the text, as it is by then, and
 * then what follows. Each view can be read once. Leaving the last of them closes
 * the connection; the task goes on.
 */
export class Run implements AsyncIterable<PublicEvent>, AsyncDisposable {
  readonly #connection: Connection;
  readonly #source: TaskEventSource;
  readonly #onNotice: OnNotice;
  readonly #abort = new AbortController();
  readonly #signal: AbortSignal;
  readonly #events: View<PublicEvent>;
  readonly #deltas: View<string>;
  #followed: AsyncGenerator<StreamedEvent, void, undefined> | undefined;
  #textDeltas: TextDeltas | undefined;
  #result: Promise<Answer> | undefined;
  #ended = Promise.withResolvers<void>();
  #end: { readonly error?: unknown } | undefined;
  #isDriving = false;
  #isCut = false;
  /** The ids of the events that nobody took yet. */
  readonly #ids: string[] = [];
  #lastReadId: string | undefined;

  constructor({ connection, source, signal, onNotice }: RunOptions) {
    this.#connection = connection;
    this.#source = source;
    this.#onNotice = onNotice;
    this.#signal = signal ? AbortSignal.any([signal, this.#abort.signal]) : this.#abort.signal;
    this.#lastReadId = source.lastEventId;
    // Who never looks at the result must not be ended by what it would have been.
    this.#ended.promise.catch(() => undefined);
    const hooks = { onRead: () => this.#drive(), onLeave: () => this.#leave() };
    const onTaken = (): void => void (this.#lastReadId = this.#ids.shift() || this.#lastReadId);
    this.#events = new View({ ...hooks, onTaken, onBegin: () => this.#beginEvents() });
    this.#deltas = new View({ ...hooks, onBegin: () => this.#beginText() });
  }

  /** The id of the task; none before the agent told it, or when it answers without one. */
  get taskId(): string | undefined {
    return this.#source.snapshot.taskId;
  }

  get contextId(): string | undefined {
    return this.#source.snapshot.contextId;
  }

  /** The id of the event that was read last; `subscribe` goes on after it. */
  get lastEventId(): string | undefined {
    return this.#events.isAttached ? this.#lastReadId : this.#source.lastEventId;
  }

  /** The task as the events so far add up to. */
  get task(): Task | undefined {
    return this.#source.snapshot.task;
  }

  /**
   * The text as it comes, once. Joined it is `(await run.result).text`, unless the agent
   * replaces what it said: a notice of kind "rewritten" says from which character on.
   */
  get text(): AsyncIterable<string> {
    return this.#deltas;
  }

  /** The whole answer: when the task has ended, or waits for its caller. Reads by itself. */
  get result(): Promise<Answer> {
    this.#result ??= this.#whole();
    // Whoever waits for it hears of it; whoever does not is not ended by it.
    this.#result.catch(() => undefined);
    this.#drive();
    return this.#result;
  }

  [Symbol.asyncIterator](): AsyncIterator<PublicEvent, void, undefined> {
    return this.#events;
  }

  /**
   * Cancels the task at the agent; the task as it is then. The run goes on to
   * its end. Nothing is there to cancel when the answer is a message, or when
   * the run had not begun: then it does not begin.
   */
  async cancel(): Promise<Task | undefined> {
    if (this.#followed === undefined && !this.#isDriving) {
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

  /** Closes the connection; the task goes on. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isCut ||= this.#end === undefined;
    this.#finish({});
    this.#abort.abort(new Error("the run is closed"));
    const closed = this.#followed?.return().catch(() => undefined);
    // What waits for somebody's answer is not waited for.
    if (!this.#isDriving) await closed;
  }

  /** Who comes late gets what there is so far as one event. */
  #beginEvents(): void {
    const { answer, isPartial } = this.#source.snapshot;
    if (answer !== undefined && !isPartial) this.#show(answer, this.#source.lastEventId ?? "");
    if (this.#end !== undefined) this.#events.end(this.#end);
  }

  #beginText(): void {
    this.#textDeltas = new TextDeltas();
    const { answer } = this.#source.snapshot;
    if (answer !== undefined) this.#tell(answer, answer);
    if (this.#end !== undefined) this.#endText(this.#end);
  }

  /** Reads on for as long as somebody wants more and nobody is behind. */
  #drive(): void {
    if (this.#isDriving) return;
    this.#takeReady();
    if (this.#mayPull) void this.#wait();
  }

  async #wait(): Promise<void> {
    this.#isDriving = true;
    // Views that are read in the same moment begin together.
    await Promise.resolve();
    while (this.#mayPull) {
      await this.#pull();
      this.#takeReady();
    }
    this.#isDriving = false;
  }

  /** What is there already takes no waiting. */
  #takeReady(): void {
    try {
      while (this.#mayPull && !this.#signal.aborted) {
        const followed = this.#source.takeBuffered?.();
        if (followed === undefined) return;
        this.#use(followed);
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
      this.#followed ??= this.#source.read(this.#signal);
      const { done, value } = await this.#followed.next();
      if (done === true) this.#finish({});
      else this.#use(value);
    } catch (error) {
      this.#finish({ error });
    }
  }

  #use({ event, id }: StreamedEvent): void {
    if (this.#events.isAttached) this.#show(event, id);
    this.#tell(event, this.#source.snapshot.answer);
  }

  #show(event: PublicEvent, id: string): void {
    this.#ids.push(id);
    this.#events.put(event);
  }

  #tell(event: PublicEvent, answer: Task | Message | undefined): void {
    if (answer !== undefined) this.#give(this.#textDeltas?.after(event, answer));
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
    const isWhole = answer !== undefined && !isPartial && !this.#isCut && !("error" in end);
    if (isWhole) this.#give(this.#textDeltas?.atEnd(answer));
    this.#deltas.end(end);
  }

  /** A view was left. While another is being read, or the result is awaited, the rest goes on. */
  #leave(): void {
    const isRead = this.#events.isAttached || this.#deltas.isAttached;
    if (isRead || this.#result !== undefined) this.#drive();
    else void this[Symbol.asyncDispose]();
  }

  async #whole(): Promise<Answer> {
    await this.#ended.promise;
    const { answer, taskId, isPartial } = this.#source.snapshot;
    if (this.#isCut && !this.#source.snapshot.isAtRest) {
      throw new Error(
        "the run was left before its answer was whole; remote.subscribe(run.taskId) goes on with it",
      );
    }
    if (answer !== undefined && !isPartial) return toAnswer(answer);
    // The run began in the middle: what was before is with the agent.
    return toAnswer(await this.#connection.call("getTask", { taskId: taskId ?? "" }));
  }
}
