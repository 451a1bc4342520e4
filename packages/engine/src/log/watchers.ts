import { ShortLivedMap, ShortLivedSet } from "@convoke/protocol/internal";
import type { Seq } from "./backend.ts";

type Watcher = (head: Seq) => void;

/** The functions to call after a commit, by task. */
export class Watchers {
  readonly #byTask = new ShortLivedMap<ShortLivedSet<Watcher>>();

  watch(taskId: string, wake: Watcher): () => void {
    const watching = this.#byTask.get(taskId) ?? new ShortLivedSet();
    const watcher = watching.add(wake);
    this.#byTask.set(taskId, watching);
    return () => {
      watching.delete(watcher);
      if (watching.isEmpty && this.#byTask.get(taskId) === watching) this.#byTask.delete(taskId);
    };
  }

  /** Calls the current watchers of a task, except those that are removed meanwhile. */
  wake(taskId: string, head: Seq): void {
    const watching = this.#byTask.get(taskId);
    if (watching === undefined) return;
    watching.forEach((watcher) => wakeOne(watcher, head));
  }

  clear(): void {
    this.#byTask.clear();
  }
}

/** A watcher that throws is a bug, reported as a warning so that it affects neither other watchers nor the commit. */
function wakeOne(watcher: Watcher, head: Seq): void {
  try {
    watcher(head);
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : new Error(String(error)));
  }
}
