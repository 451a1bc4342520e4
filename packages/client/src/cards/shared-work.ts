import { orAborted } from "@convoke/protocol/internal";

/** Work with several waiters. Each may leave; when the last one has left, the work is aborted. */
export class SharedWork<T> {
  readonly #stop = new AbortController();
  readonly #work: Promise<T>;
  #waiting = 0;
  #isOver = false;

  constructor(start: (signal: AbortSignal) => Promise<T>) {
    this.#work = start(this.#stop.signal);
    const over = () => {
      this.#isOver = true;
    };
    // Waiters see a failure; without waiters the rejection is handled here.
    this.#work.then(over, over);
  }

  /** Calls back when the work has settled or was aborted. */
  onEnd(ended: () => void): void {
    this.#stop.signal.addEventListener("abort", ended, { once: true });
    this.#work.then(ended, ended);
  }

  async wait(signal: AbortSignal | undefined): Promise<T> {
    signal?.throwIfAborted();
    this.#waiting += 1;
    try {
      return await orAborted(this.#work, signal);
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0 && !this.#isOver) this.#stop.abort();
    }
  }
}
