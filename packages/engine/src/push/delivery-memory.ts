import type { TaskSnapshot } from "../log/task-snapshot.ts";

/** Maximum total size of tasks that are in memory for deliveries, in characters. The notifications take up as much again. */
const MAX_SIZE = 8 * 1024 * 1024;

/**
 * Limits the memory of concurrent deliveries. After a restart, or while receivers fail, every
 * config has a notification to send, and each may need its whole task.
 */
export class DeliveryMemory {
  readonly #maxSize: number;
  #held = 0;
  #room = Promise.withResolvers<void>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(maxSize = MAX_SIZE) {
    this.#maxSize = maxSize;
  }

  /** Loads a task when there is room. One at a time, because the size of a task is known only once it is loaded. */
  load(read: () => Promise<TaskSnapshot>): Promise<TaskSnapshot> {
    const loaded = this.#last.then(async () => {
      while (this.#held >= this.#maxSize) await this.#room.promise;
      return this.hold(await read());
    });
    this.#last = loaded.catch(() => undefined);
    return loaded;
  }

  /** Counts a task that is in memory already, until it is released. */
  hold(snapshot: TaskSnapshot): TaskSnapshot {
    this.#held += snapshot.size;
    return snapshot;
  }

  release({ size }: TaskSnapshot): void {
    this.#held -= size;
    this.#room.resolve();
    this.#room = Promise.withResolvers();
  }
}
