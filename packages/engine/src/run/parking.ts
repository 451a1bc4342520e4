import type { Message } from "@convoke/protocol";

/** Where a run waits for its caller or for a time. */
export class Parking {
  #waiting: PromiseWithResolvers<Message | undefined> | undefined;
  readonly #first = Promise.withResolvers<void>();
  readonly #next: (() => void)[] = [];

  /** Whether the run waits for `resume`. */
  get isWaiting(): boolean {
    return this.#waiting !== undefined;
  }

  /** Resolves when it waits for the first time. */
  get first(): Promise<void> {
    return this.#first.promise;
  }

  /** Resolves when it waits, at once when it does. */
  next(): Promise<void> {
    if (this.isWaiting) return Promise.resolve();
    return new Promise((resolve) => this.#next.push(resolve));
  }

  wait(): Promise<Message | undefined> {
    const waiting = Promise.withResolvers<Message | undefined>();
    this.#waiting = waiting;
    // A run that is dropped while it waits is never told; nobody else is waiting for this promise.
    waiting.promise.catch(() => undefined);
    this.#first.resolve();
    for (const resolve of this.#next.splice(0)) resolve();
    return waiting.promise;
  }

  /** Calls back when the signal fires while this very wait lasts. */
  recallOn(signal: AbortSignal, recall: () => void): void {
    const waiting = this.#waiting;
    const onAbort = (): void => {
      if (waiting !== undefined && this.#waiting === waiting) recall();
    };
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    const forget = (): void => signal.removeEventListener("abort", onAbort);
    waiting?.promise.then(forget, forget);
  }

  /** Goes on with the answer, or with nothing when the time came. */
  resume(answer: Message | undefined): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve(answer);
  }

  /** Nothing will come any more. */
  end(reason: Error): void {
    this.#waiting?.reject(reason);
    this.#waiting = undefined;
  }
}
