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

type Result = IteratorResult<ModelEvent, undefined>;

const OVER: Result = { done: true, value: undefined };

/**
 * How long a provider may take to end its response after the last part. Waiting for the end lets
 * the connection be reused.
 */
const TAIL_MS = 1_000;

/**
 * Reads a provider's answer one part at a time. This is not a generator, because a generator that
 * awaits the provider cannot be ended until the provider sends something, and here the request must
 * be aborted immediately.
 */
export class AnswerStream implements AsyncIterableIterator<ModelEvent, undefined> {
  readonly #options: AnswerStreamOptions;
  readonly #abort = new AbortController();
  /** Events of the last part that have not been read yet. */
  #ready: ModelEvent[] = [];
  #reader: PartReader | undefined;
  #isOver = false;
  /** Thrown by the next read. */
  #failure: { readonly error: unknown } | undefined;
  #resolve: ((result: Result) => void) | undefined;
  #reject: ((error: unknown) => void) | undefined;

  constructor(options: AnswerStreamOptions) {
    this.#options = options;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Result> {
    const event = this.#ready.shift();
    if (event !== undefined) return Promise.resolve({ done: false, value: event });
    if (this.#failure !== undefined) {
      const { error } = this.#failure;
      this.#failure = undefined;
      return Promise.reject(error);
    }
    if (this.#isOver) return Promise.resolve(OVER);
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      if (this.#reader === undefined) this.#begin();
      else this.#read(this.#reader);
    });
  }

  /** Stops reading and aborts the request, even during a pending read. */
  return(): Promise<Result> {
    this.#failure = undefined;
    if (!this.#isOver) this.#end();
    this.#ready = [];
    this.#give(OVER);
    return Promise.resolve(OVER);
  }

  #begin(): void {
    const { signal, ask } = this.#options;
    if (signal.aborted) return this.#aborted();
    signal.addEventListener("abort", this.#aborted, { once: true });
    ask(this.#abort.signal).then((reader) => {
      this.#reader = reader;
      if (this.#isOver) void reader.cancel().catch(() => undefined);
      else this.#read(reader);
    }, this.#failed);
  }

  #read(reader: PartReader): void {
    reader.read().then(this.#took, this.#failed);
  }

  readonly #took = (result: Awaited<ReturnType<PartReader["read"]>>): void => {
    if (this.#isOver) return;
    if (result.done === true) return this.#failed(new LostAnswerError());
    try {
      this.#options.translator.translate(result.value, this.#ready);
    } catch (error) {
      return this.#failed(error);
    }
    const event = this.#ready.shift();
    if (this.#options.translator.isFinished) this.#finish();
    if (event === undefined) this.#read(this.#reader as PartReader);
    else this.#give({ done: false, value: event });
  };

  #give(result: Result): void {
    const resolve = this.#resolve;
    this.#resolve = this.#reject = undefined;
    resolve?.(result);
  }

  readonly #failed = (error: unknown): void => {
    if (!this.#isOver) this.#fail(this.#options.explain(error));
  };

  readonly #aborted = (): void => this.#fail(this.#options.signal.reason);

  #fail(error: unknown): void {
    const reject = this.#reject;
    this.#resolve = this.#reject = undefined;
    this.#end();
    if (reject === undefined) this.#failure = { error };
    else reject(error);
  }

  /** Ends the answer: there are no more events, and nothing keeps running. */
  #end(): void {
    this.#isOver = true;
    this.#ready = [];
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
