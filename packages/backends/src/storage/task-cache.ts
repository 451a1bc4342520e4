/**
 * A bounded cache of recently written tasks. It has two generations instead of an
 * exact order of use: a hit costs one lookup, and when the young generation is full,
 * the old one is dropped as a whole.
 */
export class TaskCache<Task> {
  readonly #capacity: number;
  #young = new Map<string, Task>();
  #old = new Map<string, Task>();

  constructor(capacity = 5_000) {
    this.#capacity = capacity;
  }

  get(taskId: string): Task | undefined {
    const young = this.#young.get(taskId);
    if (young !== undefined) return young;
    const old = this.#old.get(taskId);
    return old === undefined ? undefined : this.keep(taskId, old);
  }

  keep(taskId: string, task: Task): Task {
    if (this.#young.size >= this.#capacity) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(taskId, task);
    return task;
  }

  drop(taskId: string): void {
    this.#young.delete(taskId);
    this.#old.delete(taskId);
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }
}
