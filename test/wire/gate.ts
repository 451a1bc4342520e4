/** Something an agent waits for until the test lets it through. */
export class Gate {
  #opened = Promise.withResolvers<void>();

  open(): void {
    this.#opened.resolve();
  }

  get opened(): Promise<void> {
    return this.#opened.promise;
  }
}
