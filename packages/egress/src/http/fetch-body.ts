import { unreachable } from "./unreachable.ts";

export interface FetchBodyOptions {
  readonly url: string;
  readonly signal: AbortSignal | undefined;
}

/** The pieces of a body that `fetch` gave. Leaving before the end closes the connection. */
export class FetchBody implements AsyncIterableIterator<Uint8Array, void> {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  readonly #options: FetchBodyOptions;

  constructor(body: ReadableStream<Uint8Array> | null, options: FetchBodyOptions) {
    this.#reader = body?.getReader();
    this.#options = options;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array, void>> {
    try {
      const { done = true, value } = (await this.#reader?.read()) ?? {};
      return done || value === undefined ? { done: true, value: undefined } : { done, value };
    } catch (error) {
      this.#options.signal?.throwIfAborted();
      throw unreachable(`the connection to ${this.#options.url} was lost`, error);
    }
  }

  async return(): Promise<IteratorResult<Uint8Array, void>> {
    // A body that failed or was aborted refuses to be canceled; it is closed already.
    await this.#reader?.cancel().catch(() => undefined);
    return { done: true, value: undefined };
  }
}
