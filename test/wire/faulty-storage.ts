import { createMemoryBackend } from "@convoke/engine/memory";
import type { Backend } from "@convoke/engine";

/** A store that fails when a test says so. */
export class FaultyStorage {
  #commits: Error | undefined;
  #reads: { readonly error: Error; good: number } | undefined;

  /** Every commit fails from now on. */
  failCommits(error: Error): void {
    this.#commits = error;
  }

  /** Every read of a log fails, after the given number of successful ones. */
  failReads(error: Error, options: { readonly after: number }): void {
    this.#reads = { error, good: options.after };
  }

  /** The store works again. */
  heal(): void {
    this.#commits = undefined;
    this.#reads = undefined;
  }

  open(): Backend {
    const backend = createMemoryBackend();
    return {
      tasks: backend.tasks,
      pushes: backend.pushes,
      retention: backend.retention,
      watch: (taskId, wake) => backend.watch(taskId, wake),
      close: () => backend.close(),
      commit: (step) =>
        this.#commits === undefined ? backend.commit(step) : Promise.reject(this.#commits),
      read: (taskId, after, limit) => {
        if (this.#reads !== undefined && this.#reads.good-- <= 0) {
          return Promise.reject(this.#reads.error);
        }
        return backend.read(taskId, after, limit);
      },
    };
  }
}
