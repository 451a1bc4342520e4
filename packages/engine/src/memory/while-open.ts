/** Lets calls through until it is closed, and writes one after the other. */
export class WhileOpen {
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Runs in a microtask, so that nobody comes to rely on a write that is visible before it resolves. */
  write<Result>(change: () => Result): Promise<Result> {
    if (this.#isClosed) return Promise.reject(closedError());
    const written = Promise.resolve().then(change);
    this.#last = written;
    return written;
  }

  assert(): void {
    if (this.#isClosed) throw closedError();
  }

  /** Resolves when every write that was begun is settled. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#last.catch(() => {});
  }
}

function closedError(): Error {
  return new Error("the backend is closed");
}
