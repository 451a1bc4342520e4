/** Runs pieces of work one after the other, in the order in which they come. */
export class InOrder {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    // A failure concerns its own caller only.
    this.#last = result.catch(() => undefined);
    return result;
  }
}
