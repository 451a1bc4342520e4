import type { NewTask } from "../log/backend.ts";
import type { TakenMessage } from "../log/check-step.ts";
import type { MemoryTask } from "./memory-task.ts";

/** Contexts from which listed tasks were removed. */
export class MemoryContexts {
  readonly #tasks: ReadonlyMap<string, MemoryTask>;
  /** When the last removed task ended. */
  readonly #endedAt = new IdsByOwner<number>();

  constructor(tasks: ReadonlyMap<string, MemoryTask>) {
    this.#tasks = tasks;
  }

  /** Whether all listed tasks of the context were removed. */
  isForgotten({ owner, contextId }: NewTask): boolean {
    if (this.#endedAt.get(owner, contextId) === undefined) return false;
    for (const task of this.#tasks.values()) {
      if (task.listed && task.owner === owner && task.contextId === contextId) return false;
    }
    return true;
  }

  /** Records that a listed task was removed. */
  add({ owner, contextId, statusAt }: MemoryTask): void {
    const earlier = this.#endedAt.get(owner, contextId) ?? statusAt;
    this.#endedAt.set(owner, contextId, Math.max(statusAt, earlier));
  }

  /** Forgets contexts whose tasks ended before a time, oldest first. */
  forget(endedBefore: number, limit: number): number {
    return this.#endedAt.forget(limit, {
      isForgettable: (endedAt) => endedAt < endedBefore,
      timeOf: (endedAt) => endedAt,
    });
  }

  clear(): void {
    this.#endedAt.clear();
  }
}

interface Message extends TakenMessage {
  readonly acceptedAt: number;
}

interface AcceptedMessage {
  readonly owner: string;
  readonly messageId: string;
  readonly message: Message;
}

/** The message ids in use. */
export class MemoryMessages {
  readonly #taken = new IdsByOwner<Message>();

  find(owner: string, messageId: string): TakenMessage | undefined {
    return this.#taken.get(owner, messageId);
  }

  take({ owner, messageId, message }: AcceptedMessage): void {
    this.#taken.set(owner, messageId, message);
  }

  /** Frees ids, oldest first. */
  forget(isForgettable: (message: Message) => boolean, limit: number): number {
    return this.#taken.forget(limit, { isForgettable, timeOf: ({ acceptedAt }) => acceptedAt });
  }

  clear(): void {
    this.#taken.clear();
  }
}

/** Ids of messages or contexts by owner, each with a value. They outlive their tasks. */
class IdsByOwner<Value> {
  readonly #byOwner = new Map<string, Map<string, Value>>();

  get(owner: string, name: string): Value | undefined {
    return this.#byOwner.get(owner)?.get(name);
  }

  set(owner: string, name: string, value: Value): void {
    const names = this.#byOwner.get(owner) ?? new Map<string, Value>();
    this.#byOwner.set(owner, names.set(name, value));
  }

  /** Removes matching ids, oldest first. Returns how many were removed. */
  forget(
    limit: number,
    rule: {
      readonly isForgettable: (value: Value) => boolean;
      readonly timeOf: (value: Value) => number;
    },
  ): number {
    const forgotten = [...this.#all()]
      .filter(({ value }) => rule.isForgettable(value))
      .toSorted((left, right) => rule.timeOf(left.value) - rule.timeOf(right.value))
      .slice(0, limit);
    for (const { owner, name } of forgotten) this.#free(owner, name);
    return forgotten.length;
  }

  clear(): void {
    this.#byOwner.clear();
  }

  *#all(): Iterable<{ readonly owner: string; readonly name: string; readonly value: Value }> {
    for (const [owner, names] of this.#byOwner) {
      for (const [name, value] of names) yield { owner, name, value };
    }
  }

  #free(owner: string, name: string): void {
    const names = this.#byOwner.get(owner);
    names?.delete(name);
    if (names?.size === 0) this.#byOwner.delete(owner);
  }
}
