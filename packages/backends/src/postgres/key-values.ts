import { type KeyValueStore, type KeyedValue, NO_VALUE, type StoredValue } from "@convoke/protocol";
import type { Rows } from "./connection.ts";
import { connectPrepared } from "./migrations.ts";
import { Reader } from "./reader.ts";
import { fromText, toText } from "./text.ts";

/** How often to look whether watched collections have changed: twice in the second that is promised. */
const LOOK_MS = 500;

const GET = "SELECT value, version FROM @.kv WHERE collection = $1 AND key = $2";

const LIST = "SELECT value, version, key FROM @.kv WHERE collection = $1 ORDER BY key";

const PUT = `
  INSERT INTO @.kv (collection, key, value) VALUES ($1, $2, $3)
  ON CONFLICT (collection, key) DO UPDATE SET value = excluded.value, version = excluded.version
  RETURNING version`;

const CREATE = `
  INSERT INTO @.kv (collection, key, value) VALUES ($1, $2, $3)
  ON CONFLICT (collection, key) DO NOTHING RETURNING version`;

const REPLACE = `
  UPDATE @.kv SET value = $3, version = DEFAULT
  WHERE collection = $1 AND key = $2 AND version = $4 RETURNING version`;

const DELETE = `
  DELETE FROM @.kv WHERE collection = $1 AND key = $2 AND version = coalesce($3, version)
  RETURNING version`;

/** No version is ever used again, so the versions of a collection tell whether anything has changed. */
const VERSIONS = `
  SELECT c.name, (SELECT md5(string_agg(v.version::text, ',' ORDER BY v.key))
    FROM @.kv v WHERE v.collection = c.name)
  FROM unnest($1::text[]) AS c(name)`;

interface Watched {
  readonly watchers: Set<() => void>;
  /** The versions of which the watchers were told. Absent if there is a new watcher. */
  versions?: string | null;
}

/** The values of all collections of a schema. */
export class PostgresValues {
  readonly #reader: Reader;
  readonly #onChange: (collection: string) => void;
  readonly #watched = new Map<string, Watched>();
  #looks: NodeJS.Timeout | undefined;

  /** @param onChange called after this process has changed a collection, to tell the others */
  constructor(reader: Reader, onChange: (collection: string) => void = () => {}) {
    this.#reader = reader;
    this.#onChange = onChange;
  }

  /** An `OpenValues`. */
  readonly open = (name: string): KeyValueStore => {
    const collection = toText(name);
    const write = async (text: string, values: readonly unknown[]): Promise<Rows> => {
      const rows = await this.#reader.once(text, [collection, ...values]);
      if (rows.length > 0) {
        this.changed(name);
        this.#onChange(name);
      }
      return rows;
    };
    return {
      get: async (key) => {
        const [row] = await this.#reader.rows(GET, [collection, toText(key)]);
        return row && toStored(row);
      },
      list: async () => (await this.#reader.rows(LIST, [collection])).map(toKeyed),
      put: async (key, value, version) => {
        const values = [toText(key), toText(value)];
        const isReplacing = version !== undefined && version !== NO_VALUE;
        const text = isReplacing ? REPLACE : version === NO_VALUE ? CREATE : PUT;
        const [row] = await write(text, isReplacing ? [...values, version] : values);
        return row?.[0] as number | undefined;
      },
      delete: async (key, version) =>
        (await write(DELETE, [toText(key), version ?? null])).length > 0,
      watch: (changed) => this.#watch(name, changed),
    };
  };

  /** Calls the watchers of a collection that this or another process has changed. */
  changed(collection: string): void {
    for (const watcher of this.#watched.get(collection)?.watchers ?? []) watcher();
  }

  close(): void {
    clearInterval(this.#looks);
    this.#watched.clear();
  }

  #watch(name: string, changed: () => void): () => void {
    const watched = this.#watched.get(name) ?? { watchers: new Set() };
    const watcher = (): void => changed();
    watched.watchers.add(watcher);
    delete watched.versions;
    this.#watched.set(name, watched);
    this.#looks ??= setInterval(() => void this.#look(), LOOK_MS).unref();
    return () => {
      watched.watchers.delete(watcher);
      if (watched.watchers.size === 0) this.#watched.delete(name);
    };
  }

  async #look(): Promise<void> {
    if (this.#watched.size === 0) return;
    const names = [...this.#watched.keys()].map(toText);
    // While the database does not answer, nothing can be changed there.
    const rows = await this.#reader.rows(VERSIONS, [names]).catch(() => []);
    for (const [text, versions] of rows as readonly (readonly [string, string | null])[]) {
      const name = fromText(text);
      const watched = this.#watched.get(name);
      if (watched === undefined || watched.versions === versions) continue;
      watched.versions = versions;
      this.changed(name);
    }
  }
}

function toStored([value, version]: readonly unknown[]): StoredValue {
  return { value: fromText(value as string), version: version as number };
}

function toKeyed(row: readonly unknown[]): KeyedValue {
  return { key: fromText(row[2] as string), ...toStored(row) };
}

/** The values of a database, without its tasks. */
export interface OpenedValues extends AsyncDisposable {
  /** Opens a collection by its name. */
  readonly open: (collection: string) => KeyValueStore;
}

/**
 * Opens only the small values of a database, such as API keys: this process is not one of those that
 * work on tasks. Rejects with a `DatabaseError` that says in one sentence why it cannot be used.
 *
 * @example
 * await using values = await openPostgresValues({ url: "postgres://convoke@localhost/convoke" });
 * await values.open("api-keys").list();
 */
export async function openPostgresValues({ url }: { readonly url: string }): Promise<OpenedValues> {
  const connection = await connectPrepared(url);
  const values = new PostgresValues(new Reader([connection]));
  return {
    open: values.open,
    [Symbol.asyncDispose]: async () => {
      values.close();
      await connection.close();
    },
  };
}
