import type { TakenMessage } from "../log/judge.ts";
import { OwnedNames } from "./owned-names.ts";

interface Message extends TakenMessage {
  readonly acceptedAt: number;
}

interface Accepted {
  readonly owner: string;
  readonly messageId: string;
  readonly message: Message;
}

/** Which message ids are taken. */
export class MemoryMessages {
  readonly #taken = new OwnedNames<Message>();

  find(owner: string, messageId: string): TakenMessage | undefined {
    return this.#taken.get(owner, messageId);
  }

  take({ owner, messageId, message }: Accepted): void {
    this.#taken.set(owner, messageId, message);
  }

  /** Frees the ids of old messages of tasks that are gone, oldest first. */
  forget(isForgettable: (message: Message) => boolean, limit: number): number {
    return this.#taken.forget(limit, { isForgettable, timeOf: ({ acceptedAt }) => acceptedAt });
  }

  clear(): void {
    this.#taken.clear();
  }
}
