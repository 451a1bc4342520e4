import { ShortLivedMap } from "@convoke/protocol/internal";
import type { Seq } from "./backend.ts";

/** One object per `watch` call, so that the same function can watch twice. */
interface Watcher {
  readonly wake: (head: Seq) => void;
}

/** The functions to call after a commit, by task. */
export class Watchers {
  readonly #byTask = new ShortLivedMap<Set<Watcher>>();

  watch(taskId: string, wake: (head: Seq) => void): () => void {
    const watcher: Watcher = { wake };
    const watching = this.#byTask.get(taskId) ?? new Set();
    this.#byTask.set(taskId, watching.add(watcher));
    return () => {
      watching.delete(watcher);
      if (watching.size === 0 && this.#byTask.get(taskId) === watching) this.#byTask.delete(taskId);
    };
  }

  /** Calls the current watchers of a task, except those that are removed meanwhile. */
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

/** A watcher that throws is a bug, reported as a warning so that it affects neither other watchers nor the commit. */
function wakeOne(watcher: Watcher, head: Seq): void {
  try {
    watcher.wake(head);
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : new Error(String(error)));
  }
}
