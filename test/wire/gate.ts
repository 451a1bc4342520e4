/** A gate at which an agent waits until the test opens it. */
export class Gate {
  #opened = Promise.withResolvers<void>();

  open(): void {
    this.#opened.resolve();
  }

  get opened(): Promise<void> {
    return this.#opened.promise;
  }
}
