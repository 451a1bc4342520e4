import { hash, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { emptySchemas } from "../postgres/empty-schema.suite.ts";
import { openPostgresBackend } from "../postgres/postgres-backend.ts";
import { openSqliteBackend } from "../sqlite/sqlite-backend.ts";
import { startChild } from "../sqlite/start-child.suite.ts";
import { temporaryFolder } from "../sqlite/temporary-folder.suite.ts";
import { fillStore, taskId } from "./a-store.suite.ts";
import { backupStores, restoreStores } from "./backup-stores.ts";
import { recordsIn } from "./records-in.suite.ts";

const schemas = emptySchemas();

/** A folder with tasks and those of a sub-agent, and a backup of it. */
async function aBackup(): Promise<{ readonly folder: string; readonly file: string }> {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "agents", "hotels"), { recursive: true });
  for (const path of ["", "agents/hotels"]) {
    const backend = await openSqliteBackend({ folder: join(folder, path), durability: "process" });
    await fillStore(backend, 5);
    await backend.close();
  }
  writeFileSync(join(folder, "agent.json"), '{"agents":[]}');
  const file = join(temporaryFolder(), "tasks.backup");
  await backupStores({ from: folder, file });
  return { folder, file };
}

test("a backup of a folder is restored into a folder or a database, with the same content", async () => {
  const { url } = await schemas();
  const { folder, file } = await aBackup();
  const records = await recordsIn(folder);
  const to = join(temporaryFolder(), "restored");

  expect(await restoreStores({ file, to })).toMatchObject({ tasks: 8 });
  expect(await recordsIn(to)).toEqual(records);
  await (await openSqliteBackend({ folder: to })).close();

  await restoreStores({ file, to: url });
  expect(await recordsIn(url)).toEqual(records);
  await (await openPostgresBackend({ url })).close();
});

test("a backup beside a server has what it has just committed, and one of a killed server what only its log has", async () => {
  const from = temporaryFolder();
  const child = await startChild(from, ["write"]);
  await expect.poll(() => child.lines().length, { timeout: 20_000 }).toBeGreaterThan(20);
  const told = child.lines().map((line) => line.split(" "));
  const [beside, after] = [join(temporaryFolder(), "beside"), join(temporaryFolder(), "after")];
  mkdirSync(dirname(beside), { recursive: true });
  mkdirSync(dirname(after), { recursive: true });

  await backupStores({ from, file: beside });
  await child.kill();
  const toldLater = child.lines().map((line) => line.split(" "));
  await backupStores({ from, file: after });

  for (const [file, lines] of [
    [beside, told],
    [after, toldLater],
  ] as const) {
    const to = join(temporaryFolder(), "restored");
    await restoreStores({ file, to });
    const backend = await openSqliteBackend({ folder: to });
    for (const [id = "", head] of new Map(lines as [string, string][])) {
      expect((await backend.tasks.get(id))?.head).toBeGreaterThanOrEqual(Number(head));
    }
    await backend.close();
  }
});

test("a backup has the large files of tasks, also those of sub-agents, and a database needs a folder for them", async () => {
  const { url, schema, admin } = await schemas();
  await admin.query(`DROP SCHEMA IF EXISTS ${schema}_hotels CASCADE`);
  const { folder } = await aBackup();
  const content = randomBytes(1_100_000);
  const digest = hash("sha256", content, "hex");
  for (const path of ["", "agents/hotels"]) {
    const backend = await openSqliteBackend({ folder: join(folder, path) });
    const blob = { taskId: taskId(3), digest, size: content.length };
    await backend.blobs!.put(blob, () => [content]);
    // It belongs to no task, so it is not worth a place.
    await backend.blobs!.put({ ...blob, taskId: "none" }, () => [content]);
    await backend.close();
  }
  const [file, to] = [join(temporaryFolder(), "files.backup"), join(temporaryFolder(), "restored")];
  await backupStores({ from: folder, file });

  await restoreStores({ file, to });

  for (const path of ["", "agents/hotels"]) {
    const files = join(to, path, "files");
    expect(readdirSync(files)).toEqual([taskId(3)]);
    expect(readFileSync(join(files, taskId(3), digest)).equals(content)).toBe(true);
  }
  await expect(restoreStores({ file, to: url })).rejects.toThrow("with --files");
});

test("a backup of a database has the rows of all its tables, and where its sequences are", async () => {
  const { url, schema, admin } = await schemas();
  await admin.query(`DROP SCHEMA IF EXISTS ${schema}_hotels CASCADE`);
  await admin.query(`
    CREATE TABLE ${schema}.note (n int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, words text);
    INSERT INTO ${schema}.note (words) VALUES ('one'), ('two')`);
  try {
    const backend = await openPostgresBackend({ url });
    await fillStore(backend, 5);
    const file = join(temporaryFolder(), "tasks.backup");
    await backupStores({ from: url, file });
    await backend.close();
    const records = await recordsIn(url);
    expect(records[""]).toContainEqual(expect.objectContaining({ kind: "host", host: "web-1" }));

    await schemas();
    await admin.query(`TRUNCATE ${schema}.note RESTART IDENTITY`);
    await restoreStores({ file, to: url });

    expect(await recordsIn(url)).toEqual(records);
    await admin.query(`INSERT INTO ${schema}.note (words) VALUES ('three')`);
    const { rows } = await admin.query(`SELECT n, words FROM ${schema}.note ORDER BY n`);
    expect(rows).toMatchObject([{ n: 1, words: "one" }, { n: 2 }, { words: "three" }]);

    const to = join(temporaryFolder(), "restored");
    const { leftOut } = await restoreStores({ file, to });
    expect([...leftOut]).toEqual([["note", 2]]);
  } finally {
    await admin.query(`DROP TABLE ${schema}.note`);
  }
});

test("a damaged, shortened or foreign file is refused before anything is written", async () => {
  const { file } = await aBackup();
  const bytes = readFileSync(file);
  const to = join(temporaryFolder(), "restored");
  const restore = (content: Uint8Array | string): Promise<unknown> => {
    const changed = join(temporaryFolder(), "changed.backup");
    writeFileSync(changed, content);
    return restoreStores({ file: changed, to });
  };

  const flipped = Uint8Array.from(bytes);
  flipped[bytes.length - 200]! ^= 1;
  await expect(restore(flipped)).rejects.toThrow("its checksum is wrong");
  await expect(restore(bytes.subarray(0, -50))).rejects.toThrow("its checksum is wrong");
  await expect(restore(bytes.subarray(0, bytes.indexOf("\n") + 1))).rejects.toThrow("checksum");
  await expect(restore("hello\n")).rejects.toThrow("is not a backup of Convoke");
  const newer = bytes.toString("latin1").replace('"version":2', '"version":3');
  await expect(restore(Buffer.from(newer, "latin1"))).rejects.toThrow("reads version 2");
  await expect(restoreStores({ file: `${file}.none`, to })).rejects.toThrow("There is no file");

  expect(() => readdirSync(to)).toThrow("ENOENT");
});

test("a target with tasks is refused, and one whose restoring was cut off can be restored again", async () => {
  const { url, schema, admin } = await schemas();
  await admin.query(`DROP SCHEMA IF EXISTS ${schema}_hotels CASCADE`);
  const { folder, file } = await aBackup();
  await expect(restoreStores({ file, to: folder })).rejects.toThrow("has tasks already");
  await expect(backupStores({ from: folder, file })).rejects.toThrow("exists already");

  const signal = AbortSignal.abort(new Error("cut off"));
  const to = join(temporaryFolder(), "restored");
  for (const place of [to, url]) {
    await expect(restoreStores({ file, to: place, signal })).rejects.toThrow("cut off");
    await restoreStores({ file, to: place });
    await expect(restoreStores({ file, to: place })).rejects.toThrow("has tasks already");
  }
});
