import type { Backend } from "@convoke/engine";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { needsPostgres } from "../../../../test/harness/postgres.ts";
import { noHints } from "./no-hints.suite.ts";
import { startKeeperHere } from "./lease.ts";
import { migrateDatabase } from "./migrations.ts";
import { openPostgresBackend, openWithParts } from "./postgres-backend.ts";
import { MIGRATIONS, type Migration } from "./schema.ts";

const address = needsPostgres();

/** A connection of an administrator, which is closed when the test ends. */
async function anAdministrator(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

function schemaIn(url: string): string {
  return new URL(url).searchParams.get("schema")!;
}

test("processes that open an empty database at the same time create its schema once", async () => {
  const url = await address();

  const backends = await Promise.all([1, 2, 3].map(() => openPostgresBackend({ url })));

  for (const backend of backends) {
    expect(await backend.tasks.get("t1")).toBeUndefined();
    await backend.close();
  }
});

test("a schema that needs a newer version is refused and not changed", async () => {
  const url = await address();
  await (await openPostgresBackend({ url })).close();
  const admin = await anAdministrator(url);
  await admin.query(`UPDATE ${schemaIn(url)}.meta SET value = '99'`);

  await expect(openPostgresBackend({ url })).rejects.toThrow(
    /made by a newer version of Convoke \(schema version 99; this one knows \d+\): upgrade this process/,
  );

  const { rows } = await admin.query(`SELECT value FROM ${schemaIn(url)}.meta`);
  expect(rows).toEqual([{ value: "99" }, { value: "99" }]);
});

/** Opens the database as a program that knows these migrations in addition to the current ones. */
async function openWith(
  url: string,
  more: readonly Migration[],
  options: { readonly migrate?: boolean } = {},
): Promise<Backend> {
  const migrations = [...MIGRATIONS, ...more];
  const parts = { startKeeper: startKeeperHere, openBus: noHints, migrations };
  const backend = await openWithParts({ url, ...options }, parts);
  onTestFinished(() => backend.close());
  return backend;
}

const ADDED_COLUMN = "ALTER TABLE @.task ADD COLUMN note text";
const ADDED_INDEX = { index: "task_by_note", on: "@.task (note) WHERE note IS NOT NULL" };

test("missing migrations are applied once, however many processes start, and older ones go on", async () => {
  const url = await address();
  const older = await openWith(url, []);

  await Promise.all([1, 2, 3].map(() => openWith(url, [ADDED_COLUMN, ADDED_INDEX])));
  const again = await openWith(url, []);

  const admin = await anAdministrator(url);
  const { rows } = await admin.query(
    `SELECT i.indisvalid FROM pg_index i WHERE i.indexrelid = '${schemaIn(url)}.task_by_note'::regclass`,
  );
  expect(rows).toEqual([{ indisvalid: true }]);
  for (const backend of [older, again]) {
    const create = { owner: "ann", contextId: "c1", agent: "greeter", createdAt: 1 };
    const step = { epoch: 1, events: ["{}"], state: "working", statusAt: 1, listed: true } as const;
    const taskId = `t${backend === older ? 1 : 2}`;
    expect(await backend.commit({ taskId, create, ...step })).toMatchObject({ kind: "committed" });
  }
});

test("after a migration that older programs cannot work with, they do not start any more", async () => {
  const url = await address();
  const known = MIGRATIONS.length;
  await openWith(url, [{ sql: "DROP TABLE @.endpoint", minSoftware: known + 1 }]);

  await expect(openWith(url, [])).rejects.toThrow(`schema version ${known + 1}; this one`);
});

test("an index whose building was interrupted is built again", async () => {
  const url = await address();
  const index = `${schemaIn(url)}.task_by_note`;
  await openWith(url, [ADDED_COLUMN]);
  const admin = await anAdministrator(url);
  await admin.query(`CREATE INDEX task_by_note ON ${schemaIn(url)}.task (note)`);
  await admin.query(
    `UPDATE pg_index SET indisvalid = false WHERE indexrelid = '${index}'::regclass`,
  );

  await openWith(url, [ADDED_COLUMN, ADDED_INDEX]);

  const { rows } = await admin.query(
    `SELECT indisvalid, indpred IS NOT NULL AS is_ours FROM pg_index WHERE indexrelid = '${index}'::regclass`,
  );
  expect(rows).toEqual([{ indisvalid: true, is_ours: true }]);
});

test("a migration of a table that is in use lets others work in between, and succeeds later", async () => {
  const url = await address();
  const reader = await openWith(url, []);
  const admin = await anAdministrator(url);
  await admin.query(`BEGIN; SELECT count(*) FROM ${schemaIn(url)}.task`);

  const opened = openWith(url, [ADDED_COLUMN]);
  const waiting = "SELECT 1 FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'";
  await expect.poll(async () => (await admin.query(waiting)).rowCount).toBe(1);
  // It waits behind the migration, which gives up before the transaction that is in its way ends.
  expect(await reader.tasks.newest({ limit: 1 })).toEqual([]);
  await admin.query("COMMIT");

  expect(await (await opened).tasks.newest({ limit: 1 })).toEqual([]);
});

test("a process that must not migrate names the command that does", async () => {
  const url = await address();
  const command = `run convoke database migrate postgres://admin@localhost/postgres`;

  await expect(openPostgresBackend({ url, migrate: false })).rejects.toThrow(
    `localhost/postgres has no tables in schema ${schemaIn(url)}: ${command}`,
  );
  const withPassword = `${url.replace("convoke@", "convoke:secret@")}&password=secret`;
  await expect(openPostgresBackend({ url: withPassword, migrate: false })).rejects.toThrow(
    /^(?!.*secret).*database migrate/,
  );
  await (await openPostgresBackend({ url })).close();
  await (await openPostgresBackend({ url, migrate: false })).close();
  await expect(openWith(url, [ADDED_COLUMN], { migrate: false })).rejects.toThrow(
    `has version ${MIGRATIONS.length} of schema ${schemaIn(url)}, and this process needs ${MIGRATIONS.length + 1}: ${command}`,
  );
});

test("a user who may not create tables gets an error with the command to run, and can use a schema that was granted", async () => {
  const url = await address();
  const schema = schemaIn(url);
  const admin = await anAdministrator(url);
  await admin.query(`CREATE ROLE ${schema} LOGIN`);
  const theirs = url.replace("//convoke@", `//${schema}@`);

  await expect(openPostgresBackend({ url: theirs })).rejects.toThrow(
    `does not allow this user to create or use the tables of schema ${schema}: run convoke database migrate postgres://admin@localhost/postgres?`,
  );

  const known = MIGRATIONS.length;
  expect(await migrateDatabase({ url, grant: schema })).toEqual({ from: 0, to: known });
  expect(await migrateDatabase({ url })).toEqual({ from: known, to: known });
  const backend = await openPostgresBackend({ url: theirs });
  expect(await backend.tasks.newest({ limit: 1 })).toEqual([]);
  await backend.close();
});

test("a database that accepts no writes, such as a standby, is named", async () => {
  const url = await address();
  const admin = await anAdministrator(url);
  const role = schemaIn(url);
  await admin.query(
    `CREATE ROLE ${role} SUPERUSER LOGIN; ALTER ROLE ${role} SET default_transaction_read_only = on`,
  );

  await expect(
    openPostgresBackend({ url: url.replace("//convoke@", `//${role}@`) }),
  ).rejects.toThrow("localhost/postgres accepts no writes: is it a standby?");
});

test.each([
  ["a wrong port", "postgres://convoke:secret@127.0.0.1:1/convoke", "(connection refused)"],
  ["a wrong host", "postgres://convoke:secret@nowhere.invalid/convoke", "is the host name right?"],
  ["another protocol", "mysql://convoke:secret@localhost/convoke", "postgres://user@host/database"],
  ["no address", "secret", "postgres://user@host/database"],
  ["a schema that is no name", "postgres://convoke:secret@db/convoke?schema=a-b", 'schema: "a-b"'],
])("%s is explained in one sentence without the password", async (_, url, sentence) => {
  const error = await openPostgresBackend({ url }).catch((problem: unknown) => problem);

  expect(error).toBeInstanceOf(Error);
  expect(String(error)).toContain(sentence);
  expect(String(error)).not.toContain("secret");
});

test("a database that does not exist is named, with how to create it", async () => {
  const url = (await address()).replace("/postgres?", "/orders?");

  await expect(openPostgresBackend({ url })).rejects.toThrow(
    "localhost/orders does not exist: create it with CREATE DATABASE orders",
  );
});
