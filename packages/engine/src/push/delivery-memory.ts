import type { Folded } from "../log/load-task.ts";

/** Characters of tasks that are read from the store for deliveries at the same time. */
const MOST = 16 * 1024 * 1024;

/**
 * Bounds what deliveries that are under way hold in memory. After a restart, or while receivers
 * fail, every config has a notification to send, and each may need its whole task.
 */
export class DeliveryMemory {
  readonly #most: number;
  #held = 0;
  #room = Promise.withResolvers<void>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(most = MOST) {
    this.#most = most;
  }

  /** Reads a task when there is room. One after the other: how large a task is, is known once it is read. */
  load(read: () => Promise<Folded>): Promise<Folded> {
    const loaded = this.#last.then(async () => {
      while (this.#held >= this.#most) await this.#room.promise;
      return this.hold(await read());
    });
    this.#last = loaded.catch(() => undefined);
    return loaded;
  }

  /** Counts a task that is in memory already, until it is released. */
  hold(folded: Folded): Folded {
    this.#held += folded.size;
    return folded;
  }

  release({ size }: Folded): void {
    this.#held -= size;
    this.#room.resolve();
    this.#room = Promise.withResolvers();
  }
}
