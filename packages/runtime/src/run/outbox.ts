import type { AgentEvent, Turn } from "@convoke/protocol";

type Batch = readonly AgentEvent[];

/** Maximum number of events in one batch. */
const MAX_BATCH = 64;
/** How many events the producer may be ahead of the reader. */
const MAX_WAITING = 256;

export interface OutboxOptions {
  readonly turn: Pick<Turn, "durable">;
  /** Produces the events; starts with the first read. */
  readonly body: (outbox: Outbox) => Promise<void>;
  /** Called when the reader stops reading. */
  readonly onLeave: () => void;
}

/**
 * A queue with many writers and one reader. The run and its tools put events in, and the engine
 * takes them out in order and in batches: a burst costs the reader a single step, and a lone event
 * is delivered without delay.
 */
export class Outbox implements AsyncIterableIterator<Batch> {
  readonly #options: OutboxOptions;
  #waiting: AgentEvent[] = [];
  #taker: PromiseWithResolvers<IteratorResult<Batch, undefined>> | undefined;
  #isStarted = false;
  #isHandScheduled = false;
  #end: { readonly error?: unknown } | undefined;
  /**
   * How many events were put in, handed to a read, and taken. A batch counts as taken when the next
   * read starts.
   */
  #put = 0;
  #handed = 0;
  #taken = 0;
  #untaken: { readonly count: number; readonly resolve: () => void }[] = [];
  #noRoom: (() => void)[] = [];

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Adds an event. After the end it is ignored, so a tool that does not stop has no effect. */
  put(event: AgentEvent): void {
    if (this.#end !== undefined) return;
    this.#waiting.push(event);
    this.#put += 1;
    if (this.#taker === undefined) return;
    if (this.#waiting.length >= MAX_BATCH) return this.#hand();
    if (this.#isHandScheduled) return;
    this.#isHandScheduled = true;
    process.nextTick(this.#handLater);
  }

  /** Resolves when there is room for more; undefined while there is room. */
  room(): Promise<void> | undefined {
    if (this.#waiting.length < MAX_WAITING || this.#end !== undefined) return undefined;
    return new Promise((resolve) => this.#noRoom.push(resolve));
  }

  /** Resolves when everything put in so far is committed. */
  async durable(): Promise<void> {
    await this.taken();
    await this.#options.turn.durable();
  }

  /** Resolves when the reader has taken everything put in so far. */
  async taken(): Promise<void> {
    const count = this.#put;
    if (this.#taken >= count) return;
    await new Promise<void>((resolve) => this.#untaken.push({ count, resolve }));
  }

  next(): Promise<IteratorResult<Batch, undefined>> {
    const taker = Promise.withResolvers<IteratorResult<Batch, undefined>>();
    this.#taker = taker;
    this.#taken = this.#handed;
    this.#untaken = this.#untaken.filter(({ count, resolve }) => {
      if (count <= this.#taken) resolve();
      return count > this.#taken;
    });
    if (!this.#isStarted) {
      this.#isStarted = true;
      this.#options.body(this).then(
        () => this.#finish({}),
        (error: unknown) => this.#finish({ error }),
      );
    }
    this.#hand();
    return taker.promise;
  }

  return(): Promise<IteratorResult<Batch, undefined>> {
    this.#waiting = [];
    this.#finish({});
    this.#options.onLeave();
    return Promise.resolve({ done: true, value: undefined });
  }

  #finish(end: { readonly error?: unknown }): void {
    this.#end ??= end;
    for (const resolve of this.#noRoom.splice(0)) resolve();
    this.#hand();
  }

  readonly #handLater = (): void => {
    this.#isHandScheduled = false;
    this.#hand();
  };

  /** Hands pending events to the waiting read, if there are any. */
  #hand(): void {
    const taker = this.#taker;
    if (taker === undefined) return;
    if (this.#waiting.length > 0) {
      const value = this.#waiting;
      this.#waiting = [];
      this.#handed += value.length;
      taker.resolve({ done: false, value });
      for (const resolve of this.#noRoom.splice(0)) resolve();
    } else if (this.#end === undefined) return;
    else if ("error" in this.#end) taker.reject(this.#end.error);
    else taker.resolve({ done: true, value: undefined });
    this.#taker = undefined;
  }
}
