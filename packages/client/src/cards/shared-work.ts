import { orAborted } from "@convoke/protocol/internal";

/** Work that several wait for. Each may leave; when the last one has, it is stopped. */
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
    // Those who wait are told of a failure; when nobody does, it is nobody's.
    this.#work.then(over, over);
  }

  /** Calls back when it is over or stopped. */
  onEnd(told: () => void): void {
    this.#stop.signal.addEventListener("abort", told, { once: true });
    this.#work.then(told, told);
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
