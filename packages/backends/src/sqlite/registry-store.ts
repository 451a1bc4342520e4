import { chmodSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { RegistryLimits, RegistryRecord, RegistryStore } from "@convoke/engine";
import { DataFolderError } from "./data-folder.ts";
import { StorageError } from "../storage/storage-error.ts";
import { toFailure } from "./storage-error.ts";

const VERSION = 1;

/** Entries are found by their id and by their owner and URL; everything else is in the JSON. */
export const REGISTRY_SCHEMA = `
  CREATE TABLE entries (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    url TEXT NOT NULL,
    json TEXT NOT NULL,
    UNIQUE (owner, url)
  ) WITHOUT ROWID;
  PRAGMA user_version = ${VERSION};
`;

/**
 * Opens the registry in the data folder of a server: `registry.db`, apart from the tasks. The folder
 * is locked by the backend of the tasks. Its few writes are made on the main thread.
 */
export async function openSqliteRegistry(folder: string): Promise<RegistryStore> {
  const file = join(folder, "registry.db");
  const db = new DatabaseSync(file);
  try {
    // Entries name who registered them.
    chmodSync(file, 0o600);
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
    const { user_version: version } = db.prepare("PRAGMA user_version").get() as {
      readonly user_version: number;
    };
    if (version > VERSION) {
      throw new DataFolderError(
        folder,
        "has a registry.db of a newer version; start that version, or move the file away",
      );
    }
    if (version === 0) db.exec(REGISTRY_SCHEMA);
    return new SqliteRegistryStore(db);
  } catch (error) {
    db.close();
    throw error;
  }
}

interface Row {
  readonly json: string;
}

class SqliteRegistryStore implements RegistryStore {
  readonly #db: DatabaseSync;
  readonly #statements;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#statements = {
      get: db.prepare("SELECT json FROM entries WHERE id = ?"),
      find: db.prepare("SELECT json FROM entries WHERE owner = ? AND url = ?"),
      list: db.prepare("SELECT json FROM entries WHERE id > ? ORDER BY id LIMIT ?"),
      count: db.prepare(
        "SELECT count(*) AS total, count(*) FILTER (WHERE owner = ?) AS perOwner FROM entries",
      ),
      put: db.prepare("INSERT OR REPLACE INTO entries (id, owner, url, json) VALUES (?, ?, ?, ?)"),
      delete: db.prepare("DELETE FROM entries WHERE id = ?"),
    };
  }

  async register(
    record: RegistryRecord,
    limits: RegistryLimits,
    merge: (known: RegistryRecord) => RegistryRecord,
  ): Promise<RegistryRecord | keyof RegistryLimits> {
    // No other process writes, and nothing is awaited, so nothing happens in between.
    return stored(() => {
      const row = this.#statements.find.get(record.owner, record.url);
      if (row !== undefined) return this.#put(merge(toRecord(row)));
      const count = this.#statements.count.get(record.owner) as unknown as RegistryLimits;
      if (count.perOwner >= limits.perOwner) return "perOwner";
      return count.total >= limits.total ? "total" : this.#put(record);
    });
  }

  async update(
    id: string,
    change: (known: RegistryRecord) => RegistryRecord | undefined,
  ): Promise<RegistryRecord | undefined> {
    return stored(() => {
      const row = this.#statements.get.get(id);
      if (row === undefined) return undefined;
      const known = toRecord(row);
      const changed = change(known);
      return changed === undefined ? known : this.#put(changed);
    });
  }

  async get(id: string): Promise<RegistryRecord | undefined> {
    const row = stored(() => this.#statements.get.get(id));
    return row && toRecord(row);
  }

  async list(after: string, limit: number): Promise<readonly RegistryRecord[]> {
    return stored(() => this.#statements.list.all(after, limit)).map(toRecord);
  }

  async delete(id: string): Promise<boolean> {
    return stored(() => this.#statements.delete.run(id).changes) === 1;
  }

  async purge(): Promise<void> {
    stored(() => this.#db.exec("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)"));
  }

  async close(): Promise<void> {
    if (this.#db.isOpen) this.#db.close();
  }

  #put(record: RegistryRecord): RegistryRecord {
    const { id, owner, url } = record;
    this.#statements.put.run(id, owner, url, JSON.stringify(record));
    return record;
  }
}

function toRecord(row: unknown): RegistryRecord {
  return JSON.parse((row as Row).json) as RegistryRecord;
}

/** A failure of the database is reported like one of the tasks: callers get 503 and return. */
function stored<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof Error && "errcode" in error) throw new StorageError(toFailure(error));
    throw error;
  }
}
