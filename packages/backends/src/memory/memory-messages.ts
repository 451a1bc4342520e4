import type { TakenMessage } from "../judge.ts";

interface Message extends TakenMessage {
  readonly acceptedAt: number;
}

interface Accepted {
  readonly owner: string;
  readonly messageId: string;
  readonly message: Message;
}

/** Which message ids are taken. They outlive their tasks. */
export class MemoryMessages {
  readonly #byOwner = new Map<string, Map<string, Message>>();

  find(owner: string, messageId: string): TakenMessage | undefined {
    return this.#byOwner.get(owner)?.get(messageId);
  }

  take({ owner, messageId, message }: Accepted): void {
    const messages = this.#byOwner.get(owner) ?? new Map<string, Message>();
    this.#byOwner.set(owner, messages.set(messageId, message));
  }

  /** Frees the ids of old messages of tasks that are gone, oldest first. */
  forget(isForgettable: (message: Message) => boolean, limit: number): number {
    const forgotten = [...this.#all()]
      .filter(({ message }) => isForgettable(message))
      .toSorted((left, right) => left.message.acceptedAt - right.message.acceptedAt)
      .slice(0, limit);
    for (const { owner, messageId } of forgotten) this.#free(owner, messageId);
    return forgotten.length;
  }

  clear(): void {
    this.#byOwner.clear();
  }

  *#all(): Iterable<Accepted> {
    for (const [owner, messages] of this.#byOwner) {
      for (const [messageId, message] of messages) yield { owner, messageId, message };
    }
  }

  #free(owner: string, messageId: string): void {
    const messages = this.#byOwner.get(owner);
    messages?.delete(messageId);
    if (messages?.size === 0) this.#byOwner.delete(owner);
  }
}
