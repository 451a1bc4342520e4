/** How a run reacts to a view. */
export interface ViewHooks {
  /** The first value is requested. */
  readonly onBegin: () => void;
  /** A value is requested. */
  readonly onRead: () => void;
  /** A value was handed out. */
  readonly onTaken?: () => void;
  /** The reader left. */
  readonly onLeave: () => void;
}

/**
 * One way to read a run. Once it is being read it takes part in backpressure: a value that was not
 * taken yet keeps the run from reading more.
 */
export class View<T> implements AsyncIterableIterator<T, void, undefined> {
  readonly #hooks: ViewHooks;
  readonly #values: T[] = [];
  readonly #takers: PromiseWithResolvers<IteratorResult<T, void>>[] = [];
  #isAttached = false;
  #isAsked = false;
  #end: { readonly error?: unknown } | undefined;

  constructor(hooks: ViewHooks) {
    this.#hooks = hooks;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Whether it is being read. */
  get isAttached(): boolean {
    return this.#isAttached;
  }

  /** Whether the reader waits for a value. */
  get isWaiting(): boolean {
    return this.#isAsked || this.#takers.length > 0;
  }

  /** Whether it holds a value that was not taken yet. */
  get isFull(): boolean {
    return this.#values.length > 0;
  }

  put(value: T): void {
    const taker = this.#takers.shift();
    if (taker === undefined) this.#values.push(value);
    else taker.resolve(this.#hand(value));
  }

  /** Ends the view. An error is thrown once, after all values before it were read. */
  end(end: { readonly error?: unknown }): void {
    this.#end ??= end;
    for (const taker of this.#takers.splice(0)) this.#settle(taker);
  }

  next(): Promise<IteratorResult<T, void>> {
    if (!this.#isAttached && this.#end === undefined) {
      this.#isAttached = true;
      this.#hooks.onBegin();
    }
    if (this.#values.length === 0) this.#ask();
    if (this.#values.length > 0) {
      const taken = this.#hand(this.#values.shift()!);
      this.#hooks.onRead();
      return Promise.resolve(taken);
    }
    const taker = Promise.withResolvers<IteratorResult<T, void>>();
    if (this.#end !== undefined) this.#settle(taker);
    else this.#takers.push(taker);
    return taker.promise;
  }

  return(): Promise<IteratorResult<T, void>> {
    this.#isAttached = false;
    this.#values.length = 0;
    this.end({});
    this.#hooks.onLeave();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Asks the run for values; those that have already arrived are put synchronously. */
  #ask(): void {
    this.#isAsked = true;
    this.#hooks.onRead();
    this.#isAsked = false;
  }

  #hand(value: T): IteratorResult<T, void> {
    this.#hooks.onTaken?.();
    return { done: false, value };
  }

  #settle(taker: PromiseWithResolvers<IteratorResult<T, void>>): void {
    const end = this.#end ?? {};
    if ("error" in end) taker.reject(end.error);
    else taker.resolve({ done: true, value: undefined });
    this.#end = {};
  }
}
