import { closeSync, openSync, readSync, writeSync } from "node:fs";
import type { Backend } from "@convoke/engine";

/**
 * How many commits a server has started and how many have completed, in a file that outlives it.
 * The pages of a file are shared memory, so a reader knows the current count, and after a kill the
 * file says whether a commit was in flight.
 */
export class CommitCounter {
  readonly #file: number;
  readonly #counts = new Uint32Array(2);

  constructor(path: string) {
    this.#file = openSync(path, "w+");
    this.#write();
  }

  /** The backend with each of its commits counted. */
  watch(backend: Backend): Backend {
    return {
      tasks: backend.tasks,
      pushes: backend.pushes,
      retention: backend.retention,
      ...(backend.blobs && { blobs: backend.blobs }),
      read: (taskId, after, limit) => backend.read(taskId, after, limit),
      watch: (taskId, wake) => backend.watch(taskId, wake),
      close: () => backend.close(),
      commit: async (step) => {
        this.#count(0);
        try {
          return await backend.commit(step);
        } finally {
          this.#count(1);
        }
      },
    };
  }

  #count(which: 0 | 1): void {
    this.#counts[which] = (this.#counts[which] ?? 0) + 1;
    this.#write();
  }

  #write(): void {
    writeSync(this.#file, this.#counts, 0, this.#counts.byteLength, 0);
  }
}

/** How many commits are in flight, according to the counter at the path. */
export function commitsInFlight(path: string): number {
  const counts = new Uint32Array(2);
  const file = openSync(path, "r");
  try {
    readSync(file, counts, 0, counts.byteLength, 0);
  } finally {
    closeSync(file);
  }
  const [begun = 0, answered = 0] = counts;
  return begun - answered;
}
