import type { StreamItem } from "@convoke/protocol";

/** What came over a stream together, to be looked at before it is taken. */
export class Arrivals {
  readonly #items: readonly StreamItem[];
  #place = 0;

  constructor(items: readonly StreamItem[]) {
    this.#items = items;
  }

  /** What `next` would take. */
  get first(): StreamItem | undefined {
    return this.#items[this.#place];
  }

  next(): StreamItem | undefined {
    return this.#items[this.#place++];
  }
}
