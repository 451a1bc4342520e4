import type { MemoryTask } from "./memory-task.ts";

/**
 * The tasks that have ended, oldest end first. Tasks end in the order of time
 * unless a clock was set back, so they are sorted only after that happened.
 */
export class EndedTasks {
  #tasks = new Map<string, MemoryTask>();
  #newest = Number.NEGATIVE_INFINITY;
  #isSorted = true;

  get size(): number {
    return this.#tasks.size;
  }

  add(task: MemoryTask): void {
    if (task.statusAt < this.#newest) this.#isSorted = false;
    this.#newest = Math.max(this.#newest, task.statusAt);
    this.#tasks.set(task.taskId, task);
  }

  delete(taskId: string): void {
    this.#tasks.delete(taskId);
  }

  clear(): void {
    this.#tasks.clear();
  }

  /** Those of one time in the order in which they ended. */
  oldestFirst(): Iterable<MemoryTask> {
    if (!this.#isSorted) {
      const sorted = [...this.#tasks.values()].toSorted((a, b) => a.statusAt - b.statusAt);
      this.#tasks = new Map(sorted.map((task) => [task.taskId, task]));
      this.#isSorted = true;
    }
    return this.#tasks.values();
  }
}
