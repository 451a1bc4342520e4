import type { AuditEntry, AuditStore } from "@convoke/engine";
import { Connection, toAddress } from "./connection.ts";
import { DatabaseError, sqlState, toFailure } from "./database-error.ts";

/** How long entries are kept, and how many at most: rejected requests must not fill the disk. */
const KEEP_DAYS = 90;
const KEEP_ENTRIES = 1_000_000;

/** How often older ones are removed, and how many at once. */
const SWEEP_MS = 60 * 60 * 1000;
const SWEEP_ENTRIES = 10_000;

const INSERT = "INSERT INTO @.audit (host, event, json) VALUES ($1, $2, $3)";

/** Entries are numbered in the order of their times, so both limits are a number up to which they go. */
const SWEEP = `
  DELETE FROM @.audit WHERE n IN (
    SELECT a.n FROM @.audit a WHERE a.n <= greatest(
      (SELECT b.n FROM @.audit b ORDER BY b.n DESC LIMIT 1) - $2::bigint,
      (SELECT b.n FROM @.audit b WHERE b.at < clock_timestamp() - make_interval(days => $1)
        ORDER BY b.at DESC LIMIT 1))
    ORDER BY a.n LIMIT $3)
  RETURNING n`;

const LAST = `
  SELECT (extract(epoch FROM a.at) * 1000)::bigint, a.host, a.event, a.json FROM @.audit a
  ORDER BY a.n DESC LIMIT $1`;

/** An entry, and when and on which machine it was made. */
export interface StoredAuditEntry extends Omit<AuditEntry, "event"> {
  /** In milliseconds since the epoch. */
  readonly at: number;
  readonly host: string;
  readonly event: string;
}

const UNDEFINED_TABLE = "42P01";

/**
 * The last entries of the audit log in a database, oldest first. Nothing is written, so a user that
 * may only read the table can do it.
 */
export async function readPostgresAudit(options: {
  /** The address of the database, as for `openPostgresBackend`. */
  readonly url: string;
  readonly limit: number;
}): Promise<readonly StoredAuditEntry[]> {
  const address = toAddress(options.url);
  const connection = new Connection(address);
  try {
    const rows = await connection.rows(LAST, [options.limit]);
    return (rows as readonly AuditRow[])
      .map(([at, host, event, json]) => ({ at, host, event, json }))
      .toReversed();
  } catch (error) {
    const { label, schema } = address;
    if (sqlState(error) !== UNDEFINED_TABLE) throw DatabaseError.unusable(address, error);
    throw new DatabaseError(`${label} has no audit log in schema ${schema}: is the address right?`);
  } finally {
    await connection.close();
  }
}

type AuditRow = readonly [at: number, host: string, event: string, json: string];

/** The audit log of all processes that use a database. */
export class PostgresAuditStore implements AuditStore {
  readonly #connection: Connection;
  readonly #host: string;
  readonly #sweeps: NodeJS.Timeout;

  constructor(connection: Connection, host: string) {
    this.#connection = connection;
    this.#host = host;
    // What is not removed now is removed later.
    this.#sweeps = setInterval(() => void this.sweep().catch(() => undefined), SWEEP_MS);
    this.#sweeps.unref();
  }

  async append({ event, json }: AuditEntry): Promise<void> {
    try {
      await this.#connection.rows(INSERT, [this.#host, event, json]);
    } catch (error) {
      throw toFailure(error, "the entry could not be stored");
    }
  }

  /** Removes entries that are too old, or too many. */
  async sweep(days = KEEP_DAYS, entries = KEEP_ENTRIES): Promise<void> {
    for (;;) {
      const removed = await this.#connection.rows(SWEEP, [days, entries, SWEEP_ENTRIES]);
      if (removed.length < SWEEP_ENTRIES) return;
    }
  }

  close(): void {
    clearInterval(this.#sweeps);
  }
}
