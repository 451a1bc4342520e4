import { type KeyValueStore, type KeyedValue, NO_VALUE, type StoredValue } from "@convoke/protocol";

/** Collections of values in memory, for what runs in one process. */
export class MemoryValues {
  readonly #collections = new Map<string, MemoryCollection>();

  /** An `OpenValues`. */
  readonly open = (collection: string): KeyValueStore => {
    let found = this.#collections.get(collection);
    if (found === undefined) {
      found = new MemoryCollection();
      this.#collections.set(collection, found);
    }
    return found;
  };
}

class MemoryCollection implements KeyValueStore {
  readonly #values = new Map<string, StoredValue>();
  readonly #watchers = new Set<() => void>();
  #version = NO_VALUE;

  async get(key: string): Promise<StoredValue | undefined> {
    return this.#values.get(key);
  }

  async list(): Promise<readonly KeyedValue[]> {
    return [...this.#values]
      .map(([key, stored]) => ({ key, ...stored }))
      .toSorted((one, other) => Buffer.compare(Buffer.from(one.key), Buffer.from(other.key)));
  }

  async put(key: string, value: string, version?: number): Promise<number | undefined> {
    if (!this.#isStored(key, version)) return undefined;
    this.#values.set(key, { value, version: ++this.#version });
    this.#changed();
    return this.#version;
  }

  async delete(key: string, version?: number): Promise<boolean> {
    if (!this.#values.has(key) || !this.#isStored(key, version)) return false;
    this.#values.delete(key);
    this.#changed();
    return true;
  }

  watch(changed: () => void): () => void {
    const watcher = (): void => changed();
    this.#watchers.add(watcher);
    queueMicrotask(() => this.#watchers.has(watcher) && changed());
    return () => this.#watchers.delete(watcher);
  }

  #isStored(key: string, version: number | undefined): boolean {
    return version === undefined || version === (this.#values.get(key)?.version ?? NO_VALUE);
  }

  #changed(): void {
    for (const changed of this.#watchers) changed();
  }
}
