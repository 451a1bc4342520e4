/**
 * The calls of a host that have no result yet, and the tasks whose questions it
 * was given to ask. When the host goes, nobody waits for them any more.
 */
export class OpenCalls {
  readonly #calls = new Set<Promise<unknown>>();
  readonly #asked = new Set<string>();

  /** Waits for the call as well, when all are ended. */
  async track<T>(call: Promise<T>): Promise<T> {
    this.#calls.add(call);
    try {
      return await call;
    } finally {
      this.#calls.delete(call);
    }
  }

  /** The host has a question of this task, and will call again with the answer. */
  asked(taskId: string): void {
    this.#asked.add(taskId);
  }

  answered(taskId: string): void {
    this.#asked.delete(taskId);
  }

  /** Cancels the tasks that were asked about, and resolves when every call is over, or it took too long. */
  async end(cancel: (taskId: string) => Promise<unknown>, patienceMs: number): Promise<void> {
    const canceled = [...this.#asked].map(cancel);
    const { promise: enough, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, patienceMs);
    await Promise.race([Promise.allSettled([...this.#calls, ...canceled]), enough]);
    clearTimeout(timer);
  }
}
