import type { Backend } from "@convoke/engine";
import type { SharedStorage, SharingBackend } from "@convoke/engine/testing";
import pg from "pg";
import { afterAll } from "vitest";
import { needsPostgres } from "../../../../test/harness/postgres.ts";
import { LeaseTimes, type StartKeeper, startKeeperHere } from "./lease.ts";
import { noHints } from "./no-hints.suite.ts";
import { type ReplacedParts, openWithParts } from "./postgres-backend.ts";

interface EmptySchema {
  readonly url: string;
  readonly schema: string;
  readonly admin: pg.Client;
}

/**
 * One schema for the tests of a file, which each of them finds empty: to empty tables is much cheaper
 * than to create them.
 */
export function emptySchemas(): () => Promise<EmptySchema> {
  const address = needsPostgres();
  let known: EmptySchema | undefined;
  afterAll(() => known?.admin.end());
  return async () => {
    if (known !== undefined) {
      await emptyTables(known);
      return known;
    }
    const url = await address();
    const admin = new pg.Client({ connectionString: url });
    await admin.connect();
    known = { url, schema: new URL(url).searchParams.get("schema")!, admin };
    return known;
  };
}

async function emptyTables({ admin, schema }: EmptySchema): Promise<void> {
  const { rows } = await admin.query<{ readonly tablename: string }>(
    "SELECT tablename FROM pg_tables WHERE schemaname = $1 AND tablename NOT IN ('meta', 'segment')",
    [schema],
  );
  await admin.query(rows.map(({ tablename }) => `DELETE FROM ${schema}.${tablename}`).join("; "));
  // What a move leaves there.
  await admin.query(`DELETE FROM ${schema}.meta WHERE key ~ '^transfer'`);
}

/** Opens a backend on an empty schema, which is alone there. */
export function opensEmptySchemas(): () => Promise<Backend> {
  const schemas = emptySchemas();
  return async () => {
    const { url } = await schemas();
    return openWithParts({ url }, { startKeeper: startKeeperHere, openBus: noHints });
  };
}

/** Shorter than the time since the machine was started, which the clock of leases counts from. */
const LEASE_MS = 1000;
/** Longer than any test. */
const HOUR_MS = 3_600_000;

/**
 * Opens storages whose leases end only when the test says so.
 *
 * @param settleMs how long those who wait for others wait for an answer; default: longer than any test
 */
export function opensSharedStorages(
  openBus: ReplacedParts["openBus"],
  { settleMs = HOUR_MS }: Pick<ReplacedParts, "settleMs"> = {},
): () => Promise<SharedStorage> {
  const schemas = emptySchemas();
  return async () => {
    const { url, schema, admin } = await schemas();
    const leases = new Map<
      SharingBackend,
      { readonly replica: number; readonly end: () => void }
    >();
    return {
      open: async (host = "test") => {
        let lease: { readonly replica: number; readonly end: () => void };
        const startKeeper: StartKeeper = (_, memory, report) => {
          const times = new LeaseTimes(memory);
          void admin
            .query(
              `INSERT INTO ${schema}.replica (until, host, software)
               VALUES (now() + interval '1 hour', $1, 'test') RETURNING n`,
              [host],
            )
            .then(({ rows: [row] }) => {
              const before = LeaseTimes.now() - LEASE_MS;
              times.renewed(HOUR_MS, before, before);
              lease = { replica: row.n, end: () => times.lost() };
              report({ replica: row.n });
            });
          return { stop: async () => {} };
        };
        const options = { url, leaseMs: LEASE_MS, host };
        const parts = { startKeeper, openBus, settleMs };
        const backend = await openWithParts(options, parts);
        leases.set(backend as SharingBackend, lease!);
        return backend as SharingBackend;
      },
      expire: async (backend) => {
        const { replica, end } = leases.get(backend)!;
        end();
        await admin.query(`UPDATE ${schema}.replica SET until = now() WHERE n = ${replica}`);
      },
      loseAfter: async (taskId, seq) => {
        await admin.query(
          `DELETE FROM ${schema}.segment USING ${schema}.task
           WHERE segment.task = task.n AND task.task_id = $1 AND first > $2`,
          [taskId, seq],
        );
      },
      close: async () => {
        await Promise.all([...leases.keys()].map((backend) => backend.close()));
      },
    };
  };
}
