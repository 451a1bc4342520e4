import type { Message } from "@convoke/protocol";

/** Messages to a run that waits for them, in the order they came. */
export class Inbox implements AsyncIterator<Message, undefined> {
  #messages: Message[] = [];
  #waiting: ((result: IteratorResult<Message, undefined>) => void) | undefined;
  #closed = false;

  /** Whether the run is waiting for a message right now. */
  get isAwaited(): boolean {
    return this.#waiting !== undefined;
  }

  put(message: Message): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) this.#messages.push(message);
    else waiting({ done: false, value: message });
  }

  close(): void {
    this.#closed = true;
    this.#waiting?.({ done: true, value: undefined });
    this.#waiting = undefined;
  }

  next(): Promise<IteratorResult<Message, undefined>> {
    const value = this.#messages.shift();
    if (value !== undefined) return Promise.resolve({ done: false, value });
    if (this.#closed) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }
}
