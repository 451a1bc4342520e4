import type { Message } from "@convoke/protocol";
import type { Seq } from "../log/backend.ts";

/** Messages to an agent that takes them while it works, in the order they came. */
export class Inbox implements AsyncIterator<Message, undefined> {
  #messages: { readonly message: Message; readonly seq: Seq }[] = [];
  #waiting: ((result: IteratorResult<Message, undefined>) => void) | undefined;
  #closed = false;

  /** Begins a run: with what the log had for it, and what came after the log was read. */
  begin(logged: readonly Message[], head: Seq): void {
    const later = this.#messages.filter(({ seq }) => seq > head);
    this.#messages = [...logged.map((message) => ({ message, seq: head })), ...later];
    // Whoever waited here belongs to a run that is over.
    this.#waiting = undefined;
  }

  put(message: Message, seq: Seq): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) this.#messages.push({ message, seq });
    else waiting({ done: false, value: message });
  }

  close(): void {
    this.#closed = true;
    this.#waiting?.({ done: true, value: undefined });
    this.#waiting = undefined;
  }

  next(): Promise<IteratorResult<Message, undefined>> {
    const next = this.#messages.shift();
    if (next !== undefined) return Promise.resolve({ done: false, value: next.message });
    if (this.#closed) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }
}
