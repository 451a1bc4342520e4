import type { NewTask } from "../log/backend.ts";
import type { MemoryTask } from "./memory-task.ts";
import { OwnedNames } from "./owned-names.ts";

/** The contexts that have lost listed tasks. */
export class MemoryContexts {
  readonly #tasks: ReadonlyMap<string, MemoryTask>;
  /** When the last task that is gone ended. */
  readonly #endedAt = new OwnedNames<number>();

  constructor(tasks: ReadonlyMap<string, MemoryTask>) {
    this.#tasks = tasks;
  }

  /** Looks at every task, but only for a context that has lost some. */
  isForgotten({ owner, contextId }: NewTask): boolean {
    if (this.#endedAt.get(owner, contextId) === undefined) return false;
    for (const task of this.#tasks.values()) {
      if (task.listed && task.owner === owner && task.contextId === contextId) return false;
    }
    return true;
  }

  /** Notes that a listed task is gone. */
  outlive({ owner, contextId, statusAt }: MemoryTask): void {
    const earlier = this.#endedAt.get(owner, contextId) ?? statusAt;
    this.#endedAt.set(owner, contextId, Math.max(statusAt, earlier));
  }

  /** Frees the names of those whose tasks ended before a time, oldest first. */
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
