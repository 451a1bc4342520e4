import { randomUUID } from "node:crypto";
import { sleep } from "@convoke/protocol/internal";
import { Connection, type DatabaseAddress, toAddress } from "./connection.ts";
import { DatabaseError, sqlState } from "./database-error.ts";
import { type SchemaVersion, readVersion } from "./migrations.ts";
import { MIGRATIONS } from "./schema.ts";

/** What servers have to know about a database before they rely on it. */
export interface DatabaseFacts {
  /** Host and database. */
  readonly label: string;
  readonly schema: string;
  /** The version of Postgres, such as `15.4`. */
  readonly version: string;
  readonly encoding: string;
  /** Whether it only follows another server, so that nothing can be written. */
  readonly isStandby: boolean;
  /** Absent if this user may not read it. */
  readonly stored?: SchemaVersion;
  /** How many migrations this program knows. */
  readonly known: number;
  readonly user: string;
  /** Whether the user may create tables. */
  readonly isCreator: boolean;
  /** Tables and sequences of the schema that the user may not use. */
  readonly forbidden: readonly string[];
  /** How far the clock of the database is ahead of this machine's. */
  readonly clockOffsetMs: number;
  /** Whether notifications arrive. Many poolers do not pass them on, and a standby has none. */
  readonly isNotifying: boolean;
  /** Settings that let commits return before they are on disk. */
  readonly unsafe: readonly string[];
  /** How long commits took, the fastest first. Empty if none was possible. */
  readonly commitsMs: readonly number[];
  /** How many connections there can be, and how many there are. */
  readonly connections: { readonly most: number; readonly used: number };
  readonly standbys: readonly Standby[];
}

/** A server that follows the database, to replace it when it fails. */
export interface Standby {
  readonly name: string;
  /** Whether commits wait for it, so that a failover loses nothing. */
  readonly isSynchronous: boolean;
  /** How far it is behind. Absent if the user may not see it. */
  readonly lagMs?: number;
}

/** The most connections of one server: two that write, two that read, the lease, hints (two), and other stores. */
export const CONNECTIONS_PER_SERVER = 8;

/**
 * Looks at a database without changing it. Rejects with a `DatabaseError` if it does not answer.
 *
 * @example
 * const { isNotifying } = await inspectDatabase("postgres://convoke@localhost/convoke");
 */
export async function inspectDatabase(url: string): Promise<DatabaseFacts> {
  const address = toAddress(url);
  const connection = new Connection(address);
  try {
    const server = await readServer(connection);
    const rights = await readRights(connection, address.schema);
    const stored = rights.isReadable ? await readVersion(connection, address.schema) : undefined;
    return {
      label: address.label,
      schema: address.schema,
      known: MIGRATIONS.length,
      ...server,
      user: rights.user,
      isCreator: rights.isCreator,
      forbidden: rights.forbidden,
      ...(stored && { stored }),
      clockOffsetMs: await clockOffset(connection),
      isNotifying: !server.isStandby && (await isNotified(address)),
      commitsMs: server.isStandby ? [] : await timeCommits(connection),
      standbys: await readStandbys(connection),
    };
  } catch (error) {
    throw DatabaseError.unusable(address, error);
  } finally {
    await connection.close();
  }
}

/** The few facts that a server shows when it starts. Rejects if the database does not answer. */
export async function readDatabaseSummary(
  url: string,
): Promise<Pick<DatabaseFacts, "label" | "schema" | "stored" | "isNotifying">> {
  const address = toAddress(url);
  const { label, schema } = address;
  const connection = new Connection(address);
  try {
    const stored = await readVersion(connection, schema);
    return { label, schema, stored, isNotifying: await isNotified(address) };
  } finally {
    await connection.close();
  }
}

const SERVER = `
  SELECT current_setting('server_version'), current_setting('server_encoding'), pg_is_in_recovery(),
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
    (SELECT sum(numbackends)::int FROM pg_catalog.pg_stat_database),
    ARRAY(SELECT name || ' = ' || setting FROM pg_catalog.pg_settings
      WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes') AND setting = 'off' ORDER BY name)`;

async function readServer(connection: Connection) {
  const [row] = await connection.rows(SERVER);
  const [version, encoding, isStandby, most, used, unsafe] = row as readonly [
    string,
    string,
    boolean,
    number,
    number,
    readonly string[],
  ];
  return { version, encoding, isStandby, connections: { most, used }, unsafe };
}

const RIGHTS = `
  SELECT current_user::text,
    coalesce((SELECT has_schema_privilege(n.oid, 'CREATE') FROM pg_catalog.pg_namespace n WHERE n.nspname = $1),
      has_database_privilege(current_database(), 'CREATE')),
    coalesce((SELECT has_schema_privilege(n.oid, 'USAGE') FROM pg_catalog.pg_namespace n WHERE n.nspname = $1), true),
    ARRAY(SELECT c.relname::text FROM pg_catalog.pg_class c
      JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = $1 AND CASE
        WHEN c.relkind IN ('r', 'p') THEN NOT (has_table_privilege(c.oid, 'SELECT')
          AND has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE')
          AND has_table_privilege(c.oid, 'DELETE'))
        WHEN c.relkind = 'S' THEN NOT has_sequence_privilege(c.oid, 'USAGE')
        ELSE false END
      ORDER BY c.relname)`;

async function readRights(connection: Connection, schema: string) {
  const [row] = await connection.rows(RIGHTS, [schema]);
  const [user, isCreator, hasUsage, names] = row as readonly [
    string,
    boolean,
    boolean,
    readonly string[],
  ];
  const forbidden = hasUsage ? names : [`schema ${schema}`];
  return { user, isCreator, forbidden, isReadable: hasUsage && !names.includes("meta") };
}

/** The error is at most half of the round trip. */
async function clockOffset(connection: Connection): Promise<number> {
  const sentAt = Date.now();
  const [row] = await connection.rows("SELECT extract(epoch FROM clock_timestamp())::float8");
  return Math.round(Number(row?.[0]) * 1000 - (sentAt + Date.now()) / 2);
}

const NOTIFY_MS = 2000;

/** Sends a notification to itself, as servers do. */
async function isNotified(address: DatabaseAddress): Promise<boolean> {
  const connection = new Connection(address);
  const channel = `convoke_check_${randomUUID()}`;
  const arrived = Promise.withResolvers<boolean>();
  try {
    const onNotification = (): void => arrived.resolve(true);
    await connection.listen(channel, { onNotification, onLost: () => arrived.resolve(false) });
    await connection.rows("SELECT pg_notify($1, '')", [channel]);
    return await Promise.race([arrived.promise, sleep(NOTIFY_MS).then(() => false)]);
  } finally {
    await connection.close();
  }
}

const COMMITS = 20;

/** Commits nothing but a record in the log of the database, which has to reach its disk. */
async function timeCommits(connection: Connection): Promise<readonly number[]> {
  const times: number[] = [];
  try {
    for (let count = 0; count < COMMITS; count++) {
      const startedAt = performance.now();
      await connection.rows("SELECT pg_logical_emit_message(true, 'convoke', 'check')");
      times.push(performance.now() - startedAt);
    }
  } catch (error) {
    // Some providers do not allow it.
    if (sqlState(error) !== NOT_ALLOWED) throw error;
  }
  return times.toSorted((one, other) => one - other);
}

const NOT_ALLOWED = "42501";

const STANDBYS = `
  SELECT application_name, coalesce(sync_state, '') IN ('sync', 'quorum'),
    extract(epoch FROM replay_lag)::float8 * 1000
  FROM pg_catalog.pg_stat_replication ORDER BY application_name`;

async function readStandbys(connection: Connection): Promise<readonly Standby[]> {
  const rows = await connection.rows(STANDBYS);
  return (rows as readonly (readonly [string, boolean, number | null])[]).map(
    ([name, isSynchronous, lagMs]) => ({
      name,
      isSynchronous,
      ...(lagMs !== null && { lagMs: Math.round(lagMs) }),
    }),
  );
}
