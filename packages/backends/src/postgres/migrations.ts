import { sleep } from "@convoke/protocol/internal";
import { Connection, type DatabaseAddress, type Statement, toAddress } from "./connection.ts";
import { DatabaseError, sqlState } from "./database-error.ts";
import { MIGRATIONS, type Migration } from "./schema.ts";

/** What is stored about the schema. */
export interface SchemaVersion {
  /** How many migrations were applied. 0: there are no tables. */
  readonly version: number;
  /** How many migrations a program must know to use the tables. */
  readonly minSoftware: number;
}

export interface MigrateOptions {
  /** The address of the database, with the `schema` as a parameter unless it is `convoke`. */
  readonly url: string;
  /** A user of the database who may use the tables afterwards. Default: only the one of the address. */
  readonly grant?: string | undefined;
}

/**
 * Creates the tables or applies the missing migrations, without a server. Rejects with a
 * `DatabaseError` that says in one sentence why it cannot. Returns the versions before and after.
 *
 * @example
 * await migrateDatabase({ url: "postgres://admin@localhost/convoke", grant: "convoke" });
 */
export async function migrateDatabase({
  url,
  grant,
}: MigrateOptions): Promise<{ readonly from: number; readonly to: number }> {
  const address = toAddress(url);
  const connection = new Connection(address);
  try {
    const versions = await applyMigrations(address, MIGRATIONS);
    if (grant !== undefined) await connection.batch(grantsFor(address.schema, grant));
    return versions;
  } catch (error) {
    throw DatabaseError.unusable(address, error);
  } finally {
    await connection.close();
  }
}

/** What a server needs: it writes to all tables, and changes none of them. */
function grantsFor(schema: string, user: string): readonly Statement[] {
  return [
    `USAGE ON SCHEMA "${schema}"`,
    `SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "${schema}"`,
    `USAGE ON ALL SEQUENCES IN SCHEMA "${schema}"`,
  ].map((what) => ({ text: `GRANT ${what} TO "${user.replaceAll('"', '""')}"` }));
}

interface PrepareOptions {
  /** Whether missing migrations are applied. Default true. */
  readonly migrate?: boolean;
  /** Those that this program knows. Default: all. */
  readonly migrations?: readonly Migration[];
}

/** Connects to a database whose tables are needed. Rejects with a `DatabaseError` if it cannot be used. */
export async function connectPrepared(url: string): Promise<Connection> {
  const address = toAddress(url);
  const connection = new Connection(address);
  try {
    await prepareSchema(connection, address);
    return connection;
  } catch (error) {
    await connection.close();
    throw DatabaseError.unusable(address, error);
  }
}

/**
 * Makes sure that this program can use the schema. One of a newer version is fine unless it says
 * otherwise: migrations only add, so that servers can be upgraded one after the other.
 */
export async function prepareSchema(
  connection: Connection,
  address: DatabaseAddress,
  { migrate = true, migrations = MIGRATIONS }: PrepareOptions = {},
): Promise<void> {
  const known = migrations.length;
  const stored = await readVersion(connection, address.schema);
  checkVersion(address, stored, known);
  if (stored.version >= known) return;
  if (!migrate) throw DatabaseError.notMigrated(address, stored.version, known);
  await applyMigrations(address, migrations);
}

/** Applies the missing migrations. Processes that do so at the same time wait for each other. */
async function applyMigrations(
  address: DatabaseAddress,
  migrations: readonly Migration[],
): Promise<{ readonly from: number; readonly to: number }> {
  // An index of a large table takes any time.
  const patient = { ...address, createClient: () => address.createClient(0) };
  const [lock, work] = [new Connection(patient), new Connection(patient)];
  try {
    return await whileLocked(lock, address, async () => {
      const stored = await readVersion(work, address.schema);
      checkVersion(address, stored, migrations.length);
      for (const [index, migration] of migrations.entries()) {
        if (index >= stored.version) await apply(work, address, { migration, index });
      }
      return { from: stored.version, to: Math.max(stored.version, migrations.length) };
    });
  } finally {
    await Promise.all([lock.close(), work.close()]);
  }
}

function checkVersion(address: DatabaseAddress, stored: SchemaVersion, known: number): void {
  if (stored.minSoftware > known) throw DatabaseError.newer(address, stored.version, known);
}

const TRY_LOCK = "SELECT pg_try_advisory_xact_lock(hashtext('convoke.migrate'), hashtext($1))";
const LOCK_PAUSE_MS = 200;

/** How long to wait for another process that migrates, and for sessions that use a table. */
const PATIENCE_MS = 60_000;

/**
 * Does something that only one process may do at a time. The lock belongs to an idle transaction of a
 * connection of its own: it ends with the process, and poolers keep it. Waiting for it within a
 * statement would make `CREATE INDEX CONCURRENTLY` wait for the waiting one, so it is tried again.
 */
async function whileLocked<T>(
  lock: Connection,
  address: DatabaseAddress,
  work: () => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    let done: { readonly result: T } | undefined;
    await lock.transaction(async (run) => {
      const [row] = await run(TRY_LOCK, [address.schema]);
      if (row?.[0] !== true) return;
      // After a SELECT the transaction would keep its snapshot, for which `CREATE INDEX CONCURRENTLY` waits.
      await run("SET LOCAL idle_in_transaction_session_timeout = '1h'");
      done = { result: await work() };
    });
    if (done !== undefined) return done.result;
    if (performance.now() > deadline) {
      throw DatabaseError.busy(address, "another process is doing it; try again when it is done");
    }
    await sleep(LOCK_PAUSE_MS);
  }
}

interface NextMigration {
  readonly migration: Migration;
  /** Its place in the list. The version of the schema is one more afterwards. */
  readonly index: number;
}

async function apply(
  connection: Connection,
  address: DatabaseAddress,
  { migration, index }: NextMigration,
): Promise<void> {
  const version = String(index + 1);
  if (typeof migration === "object" && "index" in migration) {
    await buildIndex(connection, address.schema, migration);
    await connection.rows(SET_META, ["schema_version", version]);
    return;
  }
  const sql = typeof migration === "string" ? migration : migration.sql;
  const minSoftware = typeof migration === "string" ? undefined : migration.minSoftware;
  await untilUnlocked(address, () =>
    connection.transaction(async (run) => {
      // A session that waits for an exclusive lock makes all later ones wait behind it.
      await run("SET LOCAL lock_timeout = '2s'");
      if (index === 0) {
        await run("CREATE SCHEMA IF NOT EXISTS @");
        await run("CREATE TABLE @.meta (key text PRIMARY KEY, value text NOT NULL)");
        await run(SET_META, ["min_software", "1"]);
      }
      await run(sql);
      await run(SET_META, ["schema_version", version]);
      if (minSoftware !== undefined) await run(SET_META, ["min_software", String(minSoftware)]);
    }),
  );
}

const SET_META = `
  INSERT INTO @.meta (key, value) VALUES ($1, $2)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value`;

/** Builds an index while others write. One whose building was interrupted is there, but not valid. */
async function buildIndex(
  connection: Connection,
  schema: string,
  { index, on }: { readonly index: string; readonly on: string },
): Promise<void> {
  const [found] = await connection.rows(INDEX, [schema, index]);
  if (found?.[0] === true) return;
  if (found !== undefined) await connection.rows(`DROP INDEX CONCURRENTLY @.${index}`);
  await connection.rows(`CREATE INDEX CONCURRENTLY ${index} ON ${on}`);
}

const INDEX = `
  SELECT i.indisvalid FROM pg_catalog.pg_index i
  JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = $1 AND c.relname = $2`;

const LOCK_NOT_AVAILABLE = "55P03";
const DEADLOCK = "40P01";

/** Tries again while other sessions use a table, and lets them work in between. */
async function untilUnlocked(address: DatabaseAddress, work: () => Promise<void>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const state = sqlState(error);
      if (state !== LOCK_NOT_AVAILABLE && state !== DEADLOCK) throw error;
      if (performance.now() > deadline) {
        const why =
          "another session locks a table, such as a long transaction; end it, and try again";
        throw DatabaseError.busy(address, why);
      }
      await sleep(LOCK_PAUSE_MS);
    }
  }
}

/**
 * The version of the stored schema. The table is looked up in the catalog, because `to_regclass` may
 * remember that it did not exist before.
 */
export async function readVersion(connection: Connection, schema: string): Promise<SchemaVersion> {
  const found = await connection.rows(
    "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'meta'",
    [schema],
  );
  if (found.length === 0) return { version: 0, minSoftware: 0 };
  const rows = await connection.rows(
    "SELECT key, value FROM @.meta WHERE key IN ('schema_version', 'min_software')",
  );
  const meta = new Map(rows as readonly (readonly [string, string])[]);
  return {
    version: Number(meta.get("schema_version") ?? 0),
    minSoftware: Number(meta.get("min_software") ?? 0),
  };
}
