import type { Seq } from "./backend.ts";

/** An object for each `watch`, so that one function can watch twice. */
interface Watcher {
  readonly wake: (head: Seq) => void;
}

/** Who wants to hear of which task. */
export class Watchers {
  readonly #byTask = new Map<string, Set<Watcher>>();

  watch(taskId: string, wake: (head: Seq) => void): () => void {
    const watcher: Watcher = { wake };
    const watching = this.#byTask.get(taskId) ?? new Set();
    this.#byTask.set(taskId, watching.add(watcher));
    return () => {
      watching.delete(watcher);
      if (watching.size === 0 && this.#byTask.get(taskId) === watching) this.#byTask.delete(taskId);
    };
  }

  /** Wakes those who were watching when it began, except who leaves meanwhile. */
  wake(taskId: string, head: Seq): void {
    const watching = this.#byTask.get(taskId);
    if (watching === undefined) return;
    const woken = Array.from(watching);
    for (const watcher of woken) {
      if (watching.has(watcher)) wakeOne(watcher, head);
    }
  }

  clear(): void {
    this.#byTask.clear();
  }
}

/** A watcher that throws is a bug to be seen, but not by the other watchers nor by whoever committed. */
function wakeOne(watcher: Watcher, head: Seq): void {
  try {
    watcher.wake(head);
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : new Error(String(error)));
  }
}
