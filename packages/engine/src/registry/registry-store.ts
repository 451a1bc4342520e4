import type { CallCounts, RegistryEntry } from "@convoke/protocol";

/** What is stored about a registered agent. */
export interface RegistryRecord extends Omit<RegistryEntry, "state" | "calls"> {
  /** The caller that registered it, within its tenant. */
  readonly owner: string;
  /** When its health is checked next, in milliseconds since the epoch. */
  readonly nextCheckAt: number;
  /** How calls ended, by the caller that reported it. */
  readonly reports: Readonly<Record<string, CallCounts>>;
}

/** How many entries there may be. */
export interface RegistryLimits {
  readonly perOwner: number;
  readonly total: number;
}

/**
 * Stores the registered agents of a server. An owner has at most one entry with the same URL. Every
 * change is durable when its promise resolves.
 */
export interface RegistryStore {
  /**
   * Adds an entry. If its owner has one with the same URL, that one is changed: `merge` gets it and
   * returns what replaces it. Resolves to what is stored, or to the limit that was reached; limits
   * do not apply to changes.
   */
  register(
    record: RegistryRecord,
    limits: RegistryLimits,
    merge: (known: RegistryRecord) => RegistryRecord,
  ): Promise<RegistryRecord | keyof RegistryLimits>;

  /**
   * Changes an entry with nothing in between. `change` returns the new entry, with the same id, owner
   * and URL, or `undefined` to leave it as it is. Resolves to the stored entry; `undefined` if there
   * is none.
   */
  update(
    id: string,
    change: (known: RegistryRecord) => RegistryRecord | undefined,
  ): Promise<RegistryRecord | undefined>;

  get(id: string): Promise<RegistryRecord | undefined>;

  /** Entries in the order of their ids, after one of them. */
  list(after: string, limit: number): Promise<readonly RegistryRecord[]>;

  /** Resolves to false if there was none. */
  delete(id: string): Promise<boolean>;

  /** Overwrites what was deleted, as far as this store has files of its own. */
  purge(): Promise<void>;

  close(): Promise<void>;
}

/** Stores the entries in memory: they are lost when the process ends. */
export class MemoryRegistryStore implements RegistryStore {
  readonly #records = new Map<string, RegistryRecord>();

  async register(
    record: RegistryRecord,
    { perOwner, total }: RegistryLimits,
    merge: (known: RegistryRecord) => RegistryRecord,
  ): Promise<RegistryRecord | keyof RegistryLimits> {
    const own = [...this.#records.values()].filter(({ owner }) => owner === record.owner);
    const known = own.find(({ url }) => url === record.url);
    if (known !== undefined) return this.#put(merge(known));
    if (own.length >= perOwner) return "perOwner";
    return this.#records.size >= total ? "total" : this.#put(record);
  }

  async update(
    id: string,
    change: (known: RegistryRecord) => RegistryRecord | undefined,
  ): Promise<RegistryRecord | undefined> {
    const known = this.#records.get(id);
    const changed = known && change(known);
    return changed === undefined ? known : this.#put(changed);
  }

  async get(id: string): Promise<RegistryRecord | undefined> {
    return this.#records.get(id);
  }

  async list(after: string, limit: number): Promise<readonly RegistryRecord[]> {
    const ids = [...this.#records.keys()].filter((id) => id > after).toSorted();
    return ids.slice(0, limit).map((id) => this.#records.get(id)!);
  }

  async delete(id: string): Promise<boolean> {
    return this.#records.delete(id);
  }

  /** There are no files. */
  async purge(): Promise<void> {}

  async close(): Promise<void> {
    this.#records.clear();
  }

  #put(record: RegistryRecord): RegistryRecord {
    this.#records.set(record.id, record);
    return record;
  }
}
