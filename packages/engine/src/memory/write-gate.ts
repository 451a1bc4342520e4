const RESOLVED = Promise.resolve();

/** Executes writes one after the other until it is closed. */
export class WriteGate {
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Runs the write in a microtask, so that no caller can rely on seeing it before it resolves. */
  write<Result>(change: () => Result): Promise<Result> {
    if (this.#isClosed) return Promise.reject(closedError());
    const written = RESOLVED.then(change);
    this.#last = written;
    return written;
  }

  /** Throws if it is closed. */
  assert(): void {
    if (this.#isClosed) throw closedError();
  }

  /** Resolves when all pending writes are settled. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#last.catch(() => {});
  }
}

function closedError(): Error {
  return new Error("the backend is closed");
}
