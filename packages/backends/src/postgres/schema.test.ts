import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { needsPostgres } from "../../../../test/harness/postgres.ts";
import { openPostgresBackend } from "./postgres-backend.ts";

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

test("a schema of a newer version is refused and not changed", async () => {
  const url = await address();
  await (await openPostgresBackend({ url })).close();
  const admin = await anAdministrator(url);
  await admin.query(`UPDATE ${schemaIn(url)}.meta SET value = '99'`);

  await expect(openPostgresBackend({ url })).rejects.toThrow(
    /made by a newer version of Convoke \(schema version 99; this one knows \d+\): upgrade this process/,
  );

  const { rows } = await admin.query(`SELECT value FROM ${schemaIn(url)}.meta`);
  expect(rows).toEqual([{ value: "99" }]);
});

test("a user who may not create tables is told what to grant, and can use a schema that exists", async () => {
  const url = await address();
  const schema = schemaIn(url);
  const admin = await anAdministrator(url);
  await admin.query(`CREATE ROLE ${schema} LOGIN`);
  const theirs = url.replace("//convoke@", `//${schema}@`);

  await expect(openPostgresBackend({ url: theirs })).rejects.toThrow(
    `does not allow this user to create or use schema ${schema}: grant CREATE on database postgres`,
  );

  await (await openPostgresBackend({ url })).close();
  await admin.query(`
    GRANT USAGE ON SCHEMA ${schema} TO ${schema};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${schema};
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${schema} TO ${schema}`);
  const backend = await openPostgresBackend({ url: theirs });
  expect(await backend.tasks.newest({ limit: 1 })).toEqual([]);
  await backend.close();
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
