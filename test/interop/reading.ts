import type { Seen } from "./sdk-client.ts";

/** A stream that is read in the background, so that a test can act in the middle of it. */
export class Reading {
  /** Everything, once the stream has ended. */
  readonly all: Promise<readonly Seen[]>;
  readonly #seen: Seen[] = [];
  #changed = Promise.withResolvers<void>();
  #ended = false;

  constructor(events: AsyncIterable<Seen>) {
    this.all = this.#read(events);
    // A caller of `all` gets the error; a test that does not call it cuts the stream on purpose.
    this.all.catch(() => undefined);
  }

  /** Resolves to everything seen so far, as soon as it satisfies the condition. */
  async until(condition: (seen: readonly Seen[]) => boolean): Promise<readonly Seen[]> {
    while (!condition(this.#seen)) {
      if (this.#ended) throw new Error(`The stream ended after ${JSON.stringify(this.#seen)}`);
      await this.#changed.promise;
    }
    return [...this.#seen];
  }

  async #read(events: AsyncIterable<Seen>): Promise<readonly Seen[]> {
    try {
      for await (const event of events) {
        this.#seen.push(event);
        this.#wake();
      }
      return this.#seen;
    } finally {
      this.#ended = true;
      this.#wake();
    }
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
