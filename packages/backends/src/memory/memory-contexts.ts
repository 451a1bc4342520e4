import type { NewTask } from "@convoke/server/backend";
import type { MemoryTask } from "./memory-task.ts";

interface PrunedContext {
  readonly owner: string;
  readonly contextId: string;
  readonly endedAt: number;
}

/** The contexts that have lost listed tasks. They outlive them. */
export class MemoryContexts {
  readonly #tasks: ReadonlyMap<string, MemoryTask>;
  /** When the last task that is gone ended, by owner and context. */
  readonly #byOwner = new Map<string, Map<string, number>>();

  constructor(tasks: ReadonlyMap<string, MemoryTask>) {
    this.#tasks = tasks;
  }

  /** Looks at every task, but only for a context that has lost some. */
  isForgotten({ owner, contextId }: NewTask): boolean {
    if (this.#byOwner.get(owner)?.has(contextId) !== true) return false;
    for (const task of this.#tasks.values()) {
      if (task.listed && task.owner === owner && task.contextId === contextId) return false;
    }
    return true;
  }

  /** Notes that a listed task is gone. */
  outlive({ owner, contextId, statusAt }: MemoryTask): void {
    const contexts = this.#byOwner.get(owner) ?? new Map<string, number>();
    const endedAt = Math.max(statusAt, contexts.get(contextId) ?? statusAt);
    this.#byOwner.set(owner, contexts.set(contextId, endedAt));
  }

  /** Frees the names of those whose tasks ended before a time, oldest first. */
  forget(endedBefore: number, limit: number): number {
    const forgotten = [...this.#all()]
      .filter(({ endedAt }) => endedAt < endedBefore)
      .toSorted((left, right) => left.endedAt - right.endedAt)
      .slice(0, limit);
    for (const { owner, contextId } of forgotten) this.#free(owner, contextId);
    return forgotten.length;
  }

  clear(): void {
    this.#byOwner.clear();
  }

  *#all(): Iterable<PrunedContext> {
    for (const [owner, contexts] of this.#byOwner) {
      for (const [contextId, endedAt] of contexts) yield { owner, contextId, endedAt };
    }
  }

  #free(owner: string, contextId: string): void {
    const contexts = this.#byOwner.get(owner);
    contexts?.delete(contextId);
    if (contexts?.size === 0) this.#byOwner.delete(owner);
  }
}
