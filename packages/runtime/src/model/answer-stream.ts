import type { ModelEvent } from "./model.ts";
import { LostAnswerError } from "./model-error.ts";

/** The source of an answer's parts. */
export interface PartReader {
  read(): Promise<{ readonly done?: boolean | undefined; readonly value?: unknown }>;
  cancel(): Promise<unknown>;
}

/** Converts the parts of one answer to events. */
export interface Translator {
  /** Whether the answer is complete. */
  readonly isFinished: boolean;
  /** Appends the events of a part, if any. Throws if the part reports an error. */
  translate(part: unknown, events: ModelEvent[]): void;
}

interface AnswerStreamOptions {
  readonly signal: AbortSignal;
  readonly translator: Translator;
  /** Converts a failure to the error that is thrown. */
  readonly explain: (error: unknown) => unknown;
  /** Sends the request. Called once, when reading starts. */
  readonly ask: (signal: AbortSignal) => Promise<PartReader>;
}

type Result<T> = IteratorResult<T, undefined>;

const OVER: Result<never> = { done: true, value: undefined };

/** How many events are read ahead of the reader. */
const MAX_READY = 256;

/**
 * After this many events the reader waits until the event loop has turned. Otherwise a long answer
 * that arrives at once would delay everything else.
 */
const EVENTS_PER_TURN = 512;

/**
 * How long a provider may take to end its response after the last part. Waiting for the end lets
 * the connection be reused.
 */
const TAIL_MS = 1_000;

/**
 * Reads a provider's answer. What has arrived together is read before the reader is woken: a burst
 * costs it a single step, and a lone event comes without delay. This is not a generator, because a
 * generator that awaits the provider cannot be ended until the provider sends something, and here
 * the request must be aborted immediately.
 */
export class AnswerStream implements AsyncIterableIterator<ModelEvent, undefined> {
  readonly #options: AnswerStreamOptions;
  readonly #abort = new AbortController();
  /** Events that have not been taken yet. */
  #ready: ModelEvent[] = [];
  #reader: PartReader | undefined;
  #isAsked = false;
  #isReading = false;
  /** Whether nothing more is read. */
  #isOver = false;
  /** Thrown once everything that arrived before it is taken. */
  #failure: { readonly error: unknown } | undefined;
  /** Resumes a reader that waits. */
  #wake: (() => void) | undefined;
  #isWakeScheduled = false;
  /** How many events were taken since the reader last waited for the event loop. */
  #taken = 0;

  constructor(options: AnswerStreamOptions) {
    this.#options = options;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<Result<ModelEvent>> {
    if (this.#ready.length === 0) await this.#arrival();
    const value = this.#ready.shift();
    if (value === undefined) return this.#end();
    this.#taken += 1;
    return { done: false, value };
  }

  /** The same answer for a reader that takes everything that has arrived at once. */
  readonly batches: AsyncIterableIterator<readonly ModelEvent[], undefined> = {
    [Symbol.asyncIterator]: () => this.batches,
    next: async () => {
      if (this.#ready.length === 0) await this.#arrival();
      const value = this.#ready;
      if (value.length === 0) return this.#end();
      this.#ready = [];
      this.#taken += value.length;
      return { done: false, value };
    },
    return: () => this.return(),
  };

  /** Stops reading and aborts the request, even during a pending read. */
  return(): Promise<Result<never>> {
    this.#stop();
    this.#failure = undefined;
    this.#wakeReader();
    return Promise.resolve(OVER);
  }

  /** There are no more events. */
  #end(): Result<never> {
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure.error;
    return OVER;
  }

  /** Resolves when there are events, or when there will be none. */
  #arrival(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    if (!this.#isAsked) this.#ask();
    this.#read();
    this.#wakeSoon();
    return promise;
  }

  #ask(): void {
    this.#isAsked = true;
    const { signal, ask } = this.#options;
    if (signal.aborted) return this.#aborted();
    signal.addEventListener("abort", this.#aborted, { once: true });
    ask(this.#abort.signal).then((reader) => {
      this.#reader = reader;
      if (this.#isOver) void reader.cancel().catch(() => undefined);
      else this.#read();
    }, this.#failed);
  }

  /** Reads the next part, unless the reader is too far behind. */
  #read(): void {
    if (this.#reader === undefined || this.#isReading || this.#isOver) return;
    if (this.#ready.length >= MAX_READY) return;
    this.#isReading = true;
    this.#reader.read().then(this.#took, this.#failed);
  }

  readonly #took = (result: Awaited<ReturnType<PartReader["read"]>>): void => {
    this.#isReading = false;
    if (this.#isOver) return;
    if (result.done === true) return this.#failed(new LostAnswerError());
    const { translator } = this.#options;
    try {
      translator.translate(result.value, this.#ready);
    } catch (error) {
      return this.#failed(error);
    }
    if (translator.isFinished) this.#finish();
    else this.#read();
    this.#wakeSoon();
  };

  /** Wakes the reader once everything that has arrived is read. */
  #wakeSoon(): void {
    const hasNews = this.#ready.length > 0 || this.#isOver;
    if (this.#wake === undefined || this.#isWakeScheduled || !hasNews) return;
    this.#isWakeScheduled = true;
    if (this.#taken < EVENTS_PER_TURN) return process.nextTick(this.#wakeReader);
    this.#taken = 0;
    setImmediate(this.#wakeReader);
  }

  readonly #wakeReader = (): void => {
    const wake = this.#wake;
    this.#wake = undefined;
    this.#isWakeScheduled = false;
    wake?.();
  };

  readonly #failed = (error: unknown): void => {
    if (this.#isOver) return;
    this.#failure = { error: this.#options.explain(error) };
    this.#close();
    this.#wakeSoon();
  };

  readonly #aborted = (): void => {
    this.#failure = { error: this.#options.signal.reason };
    this.#stop();
    this.#wakeReader();
  };

  /** Ends the answer before it is read to its end. */
  #stop(): void {
    if (!this.#isOver || this.#ready.length > 0) this.#close();
    this.#ready = [];
  }

  /** Nothing more is read, and nothing keeps running. */
  #close(): void {
    this.#isOver = true;
    this.#options.signal.removeEventListener("abort", this.#aborted);
    this.#abort.abort();
    void this.#reader?.cancel().catch(() => undefined);
  }

  /** The answer is complete; only the end of the HTTP response is left to read. */
  #finish(): void {
    this.#isOver = true;
    this.#options.signal.removeEventListener("abort", this.#aborted);
    const timer = setTimeout(() => this.#abort.abort(), TAIL_MS);
    timer.unref();
    const drain = (): void => {
      this.#reader?.read().then(
        ({ done }) => (done === true ? clearTimeout(timer) : drain()),
        () => clearTimeout(timer),
      );
    };
    drain();
  }
}
