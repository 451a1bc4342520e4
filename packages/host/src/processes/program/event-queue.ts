/** How many items may wait until the source is asked to pause. */
const MAX_WAITING = 256;

/** Items of a source that cannot be asked for the next one, for one reader. */
export class EventQueue<T> implements AsyncIterableIterator<T, undefined> {
  readonly #items: T[] = [];
  readonly #ending = Promise.withResolvers<void>();
  #isEnded = false;
  #reader: PromiseWithResolvers<IteratorResult<T, undefined>> | undefined;
  #room: PromiseWithResolvers<void> | undefined;

  /** Resolves when the source has ended, also if the reader has left before. */
  get ended(): Promise<void> {
    return this.#ending.promise;
  }

  push(item: T): void {
    if (this.#isEnded) return;
    if (this.#reader === undefined) {
      this.#items.push(item);
      return;
    }
    this.#reader.resolve({ done: false, value: item });
    this.#reader = undefined;
  }

  /** Adds the last item. */
  end(item: T): void {
    this.push(item);
    this.#isEnded = true;
    this.#ending.resolve();
  }

  /** Resolves when the reader has caught up; `undefined` if it has. */
  room(): Promise<void> | undefined {
    if (this.#isEnded || this.#items.length < MAX_WAITING) return undefined;
    this.#room ??= Promise.withResolvers();
    return this.#room.promise;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    const value = this.#items.shift();
    if (this.#items.length === 0) {
      this.#room?.resolve();
      this.#room = undefined;
    }
    if (value !== undefined) return Promise.resolve({ done: false, value });
    if (this.#isEnded) return Promise.resolve({ done: true, value: undefined });
    this.#reader = Promise.withResolvers();
    return this.#reader.promise;
  }

  return(): Promise<IteratorResult<T, undefined>> {
    this.#isEnded = true;
    this.#items.length = 0;
    this.#room?.resolve();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
