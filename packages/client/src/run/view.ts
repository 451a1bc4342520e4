/** How a run reacts to a view. */
export interface ViewHooks<Item, T> {
  /** The first value is requested. */
  readonly onBegin: () => void;
  /** A value is requested. */
  readonly onRead: () => void;
  /** The value of an item, which is handed out now. */
  readonly take: (item: Item) => T;
  /** The reader left. */
  readonly onLeave: () => void;
}

/**
 * One way to read a run. Once it is being read it takes part in backpressure: a value that was not
 * taken yet keeps the run from reading more.
 */
export class View<Item, T> implements AsyncIterableIterator<T, void, undefined> {
  readonly #hooks: ViewHooks<Item, T>;
  /** The item to take next. A queue of one item would be allocated for each event of an answer. */
  #next: Item | undefined;
  /** Items after it; a run seldom reads ahead. */
  readonly #more: Item[] = [];
  readonly #takers: PromiseWithResolvers<IteratorResult<T, void>>[] = [];
  #isAttached = false;
  #isAsked = false;
  #end: { readonly error?: unknown } | undefined;

  constructor(hooks: ViewHooks<Item, T>) {
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
    return this.#next !== undefined;
  }

  put(item: Item): void {
    const taker = this.#takers.shift();
    if (taker !== undefined) taker.resolve(this.#hand(item));
    else if (this.#next === undefined) this.#next = item;
    else this.#more.push(item);
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
    if (this.#next === undefined) this.#ask();
    if (this.#next !== undefined) {
      const taken = this.#hand(this.#next);
      this.#next = this.#more.shift();
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
    this.#next = undefined;
    this.#more.length = 0;
    this.end({});
    this.#hooks.onLeave();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Asks the run for values; items that have already arrived are put synchronously. */
  #ask(): void {
    this.#isAsked = true;
    this.#hooks.onRead();
    this.#isAsked = false;
  }

  #hand(item: Item): IteratorResult<T, void> {
    return { done: false, value: this.#hooks.take(item) };
  }

  #settle(taker: PromiseWithResolvers<IteratorResult<T, void>>): void {
    const end = this.#end ?? {};
    if ("error" in end) taker.reject(end.error);
    else taker.resolve({ done: true, value: undefined });
    this.#end = {};
  }
}
