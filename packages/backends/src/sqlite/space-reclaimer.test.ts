import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Backend } from "@convoke/engine";
import { expect, test } from "vitest";
import { enableAutoVacuum } from "./space-reclaimer.ts";
import { openSqliteBackend } from "./sqlite-backend.ts";
import { temporaryFolder } from "./temporary-folder.suite.ts";

test("the file shrinks after tasks were pruned and their space was reclaimed", async () => {
  const folder = temporaryFolder();
  const backend = await openSqliteBackend({ folder, durability: "process" });
  await fill(backend, 40);
  moveLog(folder);
  const full = sizeOf(folder);
  expect(full).toBeGreaterThan(4_000_000);

  expect(await backend.retention.prune({ endedBefore: 0, keep: 1, limit: 100 })).toHaveLength(39);
  const rounds = await reclaimAll(backend);

  expect(rounds).toBeGreaterThan(1);
  expect(sizeOf(folder)).toBeLessThan(full / 10);
  expect(sizeOf(folder, "tasks.db-wal")).toBe(0);
  expect(await backend.read("t39", 0, 9)).toHaveLength(1);
  await backend.close();
});

test("the file shrinks after logs were compacted", async () => {
  const folder = temporaryFolder();
  const backend = await openSqliteBackend({ folder, durability: "process" });
  const step = { taskId: "t1", epoch: 1, statusAt: 1, listed: true } as const;
  const create = { owner: "ann", contextId: "c", agent: "a", createdAt: 1 };
  await backend.commit({ ...step, create, state: "working", events: [] });
  for (let count = 0; count < 20; count += 1)
    await backend.commit({ ...step, state: "working", events: [aLongEvent()] });
  await backend.commit({ ...step, state: "completed", events: ["{}"] });
  await backend.retention.compact("t1", { seq: 21, json: "{}" });

  await reclaimAll(backend);

  expect(sizeOf(folder)).toBeLessThan(200_000);
  expect(await backend.read("t1", 0, 9)).toMatchObject([{ seq: 21, json: "{}" }]);
  await backend.close();
});

test("a long-running reader blocks neither the reclaiming nor the commits, and the file shrinks later", async () => {
  const folder = temporaryFolder();
  const backend = await openSqliteBackend({ folder, durability: "process" });
  await fill(backend, 20);
  moveLog(folder);
  const full = sizeOf(folder);
  const other = new DatabaseSync(join(folder, "tasks.db"), { readOnly: true });
  other.exec("BEGIN; SELECT count(*) FROM tasks");

  await backend.retention.prune({ endedBefore: 0, keep: 0, limit: 100 });
  await reclaimAll(backend);
  expect(sizeOf(folder)).toBeGreaterThan(full / 2);
  await fill(backend, 1);
  other.exec("COMMIT");
  other.close();
  await backend.retention.prune({ endedBefore: 0, keep: 0, limit: 100 });
  await reclaimAll(backend);

  expect(sizeOf(folder)).toBeLessThan(full / 10);
  await backend.close();
});

test("a file that was created without incremental vacuum is rewritten once when it is opened", async () => {
  const folder = temporaryFolder();
  const file = join(folder, "tasks.db");
  const old = new DatabaseSync(file);
  old.exec("PRAGMA journal_mode = WAL; CREATE TABLE other (x); INSERT INTO other VALUES (1)");
  expect(autoVacuum(old)).toBe(0);
  old.close();

  const backend = await openSqliteBackend({ folder });
  await fill(backend, 20);
  await backend.retention.prune({ endedBefore: 0, keep: 0, limit: 100 });
  expect(await reclaimAll(backend)).toBeGreaterThan(0);
  await backend.close();

  const db = new DatabaseSync(file);
  expect(autoVacuum(db)).toBe(2);
  expect(db.prepare("SELECT x FROM other").all()).toEqual([{ x: 1 }]);
  db.close();
  expect(statSync(file).size).toBeLessThan(200_000);
});

test("if there is no disk space to rewrite it, it stays unchanged", () => {
  const db = new DatabaseSync(join(temporaryFolder(), "full.db"));
  db.exec("CREATE TABLE a (x); INSERT INTO a VALUES (hex(randomblob(100000)))");
  const { page_count: pages } = db.prepare("PRAGMA page_count").get() as { page_count: number };
  db.exec(`PRAGMA max_page_count = ${pages}`);

  enableAutoVacuum(db);

  expect(autoVacuum(db)).toBe(0);
  expect(db.prepare("SELECT length(x) AS length FROM a").get()).toEqual({ length: 200_000 });
  db.close();
});

/** This many ended tasks with a log of 100 kB each. */
async function fill(backend: Backend, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1)
    await backend.commit({
      taskId: `t${index}`,
      create: { owner: "ann", contextId: "c", agent: "a", createdAt: 1 },
      epoch: 1,
      state: "completed",
      statusAt: index,
      listed: true,
      events: [aLongEvent()],
    });
  // What is read is in the database.
  await backend.tasks.newest({ limit: 1 });
}

function aLongEvent(): string {
  return JSON.stringify({ text: "x".repeat(100_000) });
}

/** How many times there was space to return. */
async function reclaimAll(backend: Backend): Promise<number> {
  let rounds = 0;
  while (await backend.retention.reclaim()) rounds += 1;
  return rounds;
}

/** Moves the write-ahead log into the database, as SQLite does by itself from time to time. */
function moveLog(folder: string): void {
  const other = new DatabaseSync(join(folder, "tasks.db"));
  expect(other.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()).toMatchObject({ busy: 0 });
  other.close();
}

function sizeOf(folder: string, file = "tasks.db"): number {
  const path = join(folder, file);
  return existsSync(path) ? statSync(path).size : 0;
}

function autoVacuum(db: DatabaseSync): unknown {
  return db.prepare("PRAGMA auto_vacuum").get()?.["auto_vacuum"];
}
