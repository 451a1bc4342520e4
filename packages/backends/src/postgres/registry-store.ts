import type { RegistryLimits, RegistryRecord, RegistryStore } from "@convoke/engine";
import type { Connection, Rows } from "./connection.ts";
import { toFailure } from "./database-error.ts";
import { toText } from "./text.ts";

/**
 * Registrations wait for each other, so that two of them do not both take the last place. A statement
 * after the lock sees what the one before it has stored.
 */
const LOCK = "SELECT pg_advisory_xact_lock(hashtext('convoke.registry'), hashtext('@.registry'))";

const FIND = "SELECT e.json, e.version FROM @.registry e WHERE e.owner = $1 AND e.url = $2";

/** `$5` and `$6`: how many entries the owner and all owners may have. */
const INSERT = `
  WITH counted AS MATERIALIZED (
    SELECT count(*) AS total, count(*) FILTER (WHERE e.owner = $2) AS per_owner FROM @.registry e),
  added AS (
    INSERT INTO @.registry (id, owner, url, json, version)
    SELECT $1, $2, $3, $4, 1 FROM counted WHERE per_owner < $5 AND total < $6
    ON CONFLICT DO NOTHING RETURNING id)
  SELECT (SELECT id FROM added) IS NOT NULL, per_owner >= $5, total >= $6 FROM counted`;

const GET = "SELECT e.json, e.version FROM @.registry e WHERE e.id = $1";

/** Nothing is written if the entry was changed since it was read. */
const REPLACE = `
  UPDATE @.registry SET json = $2, version = version + 1 WHERE id = $1 AND version = $3 RETURNING id`;

const LIST = "SELECT e.json FROM @.registry e WHERE e.id > $1 ORDER BY e.id LIMIT $2";

const DELETE = "DELETE FROM @.registry WHERE id = $1 RETURNING id";

/** The registered agents of all processes that use a database. */
export class PostgresRegistryStore implements RegistryStore {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async register(
    record: RegistryRecord,
    limits: RegistryLimits,
    merge: (known: RegistryRecord) => RegistryRecord,
  ): Promise<RegistryRecord | keyof RegistryLimits> {
    const [id, owner, url] = [record.id, record.owner, record.url].map(toText);
    for (;;) {
      const changed = await this.#change([FIND, owner, url], merge);
      if (changed !== undefined) return changed;
      const values = [id, owner, url, JSON.stringify(record), limits.perOwner, limits.total];
      const insert = { text: INSERT, values };
      const [, rows] = await this.#stored(() => this.#connection.batch([{ text: LOCK }, insert]));
      const [isAdded, isOwnerFull, isFull] = rows![0] as readonly boolean[];
      if (isAdded === true) return record;
      // If neither is full, another process has registered the same URL meanwhile.
      if (isOwnerFull === true) return "perOwner";
      if (isFull === true) return "total";
    }
  }

  update(
    id: string,
    change: (known: RegistryRecord) => RegistryRecord | undefined,
  ): Promise<RegistryRecord | undefined> {
    return this.#change([GET, toText(id)], change);
  }

  async get(id: string): Promise<RegistryRecord | undefined> {
    const [row] = await this.#rows(GET, toText(id));
    return row && toRecord(row);
  }

  async list(after: string, limit: number): Promise<readonly RegistryRecord[]> {
    return (await this.#rows(LIST, toText(after), limit)).map(toRecord);
  }

  async delete(id: string): Promise<boolean> {
    return (await this.#rows(DELETE, toText(id))).length > 0;
  }

  async close(): Promise<void> {
    // The connection belongs to all stores of the server.
  }

  /** Changes an entry if nobody else does meanwhile; otherwise tries again with what they have stored. */
  async #change(
    find: readonly [text: string, ...values: unknown[]],
    change: (known: RegistryRecord) => RegistryRecord | undefined,
  ): Promise<RegistryRecord | undefined> {
    for (;;) {
      const [row] = await this.#rows(...find);
      if (row === undefined) return undefined;
      const known = toRecord(row);
      const changed = change(known);
      if (changed === undefined) return known;
      const values = [toText(known.id), JSON.stringify(changed), row[1]];
      if ((await this.#rows(REPLACE, ...values)).length > 0) return changed;
    }
  }

  /** The files are those of the database server. */
  async purge(): Promise<void> {}

  #rows(text: string, ...values: unknown[]): Promise<Rows> {
    return this.#stored(() => this.#connection.rows(text, values));
  }

  /** A failure is reported like one of the tasks: callers get 503 and return. */
  async #stored<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw toFailure(error, "the registry could not be used");
    }
  }
}

function toRecord([json]: readonly unknown[]): RegistryRecord {
  return JSON.parse(json as string) as RegistryRecord;
}
