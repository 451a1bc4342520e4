import { type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";

/** An editor may write a file in several steps, and a formatter may follow. */
const SETTLE_MS = 100;

interface WatchedFolder {
  readonly watcher: FSWatcher;
  readonly names: Set<string>;
}

/**
 * Watches files. It watches their folders, because many editors replace a file instead of writing to
 * it.
 */
export class SourceWatcher {
  readonly #folders = new Map<string, WatchedFolder>();
  #change = Promise.withResolvers<void>();
  #timer: NodeJS.Timeout | undefined;

  add(path: string): void {
    const folder = dirname(path);
    const known = this.#folders.get(folder) ?? this.#watch(folder);
    known?.names.add(basename(path));
  }

  has(path: string): boolean {
    return this.#folders.get(dirname(path))?.names.has(basename(path)) === true;
  }

  /** Resolves at the first change after the last call of `forget`. */
  get changed(): Promise<void> {
    return this.#change.promise;
  }

  /** The changes so far are known. */
  forget(): void {
    clearTimeout(this.#timer);
    this.#change = Promise.withResolvers();
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const { watcher } of this.#folders.values()) watcher.close();
  }

  #watch(folder: string): WatchedFolder | undefined {
    const names = new Set<string>();
    try {
      const watcher = watch(folder, (_event, name) => {
        if (name !== null && !names.has(name)) return;
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.#change.resolve(), SETTLE_MS);
      });
      // The folder was removed: its files cannot be imported any more.
      watcher.on("error", () => watcher.close());
      this.#folders.set(folder, { watcher, names });
      return { watcher, names };
    } catch {
      // An import names a folder that does not exist; saving the importing file is noticed.
      return undefined;
    }
  }
}
