import type { LiveTask } from "./live-task.ts";

/** How many tasks that wait for their caller are kept open. */
const MAX = 1000;

/**
 * Tasks whose turn has ended with a question. They are kept open for a while,
 * so that a conversation of a thousand turns does not read its log a thousand
 * times; the one that has waited longest makes room.
 */
export class WaitingTasks {
  readonly #forget: (live: LiveTask) => void;
  readonly #tasks = new Set<LiveTask>();

  constructor(forget: (live: LiveTask) => void) {
    this.#forget = forget;
  }

  keep(live: LiveTask): void {
    this.#tasks.delete(live);
    this.#tasks.add(live);
    const [oldest] = this.#tasks;
    if (oldest === undefined || this.#tasks.size <= MAX) return;
    this.#tasks.delete(oldest);
    this.#forget(oldest);
  }
}
