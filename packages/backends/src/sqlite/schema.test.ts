import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { MIGRATIONS, migrate, schemaVersion } from "./schema.ts";
import { openSqliteBackend } from "./sqlite-backend.ts";
import { temporaryFolder } from "./temporary-folder.suite.ts";

/**
 * Version 1 as it was released, with one task. Never edit it: it represents the files that users
 * have.
 */
const VERSION_1 = `
  CREATE TABLE tasks (n INTEGER PRIMARY KEY, task_id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, context TEXT NOT NULL,
    agent TEXT NOT NULL, epoch INTEGER NOT NULL, state TEXT NOT NULL, status_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL, listed INTEGER NOT NULL, ended INTEGER NOT NULL);
  CREATE INDEX tasks_by_state ON tasks (owner, state, status_at, task_id) WHERE listed = 1;
  CREATE INDEX tasks_of_context ON tasks (owner, context, task_id) WHERE listed = 1;
  CREATE INDEX tasks_unfinished ON tasks (task_id) WHERE ended = 0;
  CREATE TABLE segments (task INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, body TEXT NOT NULL);
  CREATE UNIQUE INDEX segments_of_task ON segments (task, last);
  CREATE TABLE snapshots (task INTEGER PRIMARY KEY, seq INTEGER NOT NULL, json TEXT NOT NULL);
  CREATE TABLE messages (hash INTEGER NOT NULL, owner TEXT NOT NULL, message_id TEXT NOT NULL, task_id TEXT NOT NULL,
    digest TEXT NOT NULL);
  CREATE INDEX messages_by_hash ON messages (hash);

  INSERT INTO tasks VALUES (7, 't1', 'ann', 'c1', 'greeter', 2, 'input-required', 2000, 1000, 1, 0);
  INSERT INTO segments VALUES (7, 1, 2, '{"e":1}' || char(10) || '{"e":2}'), (7, 3, 3, '{"e":3}');
  INSERT INTO snapshots VALUES (7, 2, '{"fold":2}');
  -- The first 48 bits of sha256("ann" line break "m1")
  INSERT INTO messages VALUES (84825191316279, 'ann', 'm1', 't1', 'd1');
  PRAGMA user_version = 1;
`;

/** What version 2 added, as it was released, with two more tasks. Never edit it either. */
const VERSION_2 = `
  ${VERSION_1}
  ALTER TABLE tasks ADD COLUMN wake_at INTEGER;
  CREATE INDEX tasks_waking ON tasks (wake_at, task_id) WHERE wake_at IS NOT NULL;

  INSERT INTO tasks VALUES (8, 't2', 'ann', 'c1', 'greeter', 1, 'completed', 5000, 4000, 1, 1, NULL);
  INSERT INTO segments VALUES (8, 1, 2, '{"e":1}' || char(10) || '{"e":2}'), (8, 3, 3, '{"e":3}');
  INSERT INTO tasks VALUES (9, 't3', 'ann', 'c1', 'greeter', 1, 'failed', 6000, 4000, 0, 1, NULL);
  -- The first 48 bits of sha256("ann" line break "m2")
  INSERT INTO messages VALUES (188515985792857, 'ann', 'm2', 't2', 'd2');
  PRAGMA user_version = 2;
`;

/** What version 3 added, as it was released. Never edit it either. */
const VERSION_3 = `
  ${VERSION_2}
  ALTER TABLE tasks ADD COLUMN compacted INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX tasks_ended ON tasks (compacted, status_at) WHERE ended = 1;
  ALTER TABLE messages ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE messages ADD COLUMN task INTEGER;
  UPDATE messages SET task = 7, at = 2000 WHERE message_id = 'm1';
  UPDATE messages SET task = 8, at = 4000 WHERE message_id = 'm2';
  CREATE INDEX messages_of_task ON messages (task) WHERE task IS NOT NULL;
  CREATE INDEX messages_of_gone ON messages (at) WHERE task IS NULL;
  CREATE TABLE pushes (task_id TEXT NOT NULL, id TEXT NOT NULL, config TEXT NOT NULL, generation INTEGER NOT NULL,
    cursor INTEGER NOT NULL, state TEXT NOT NULL, failing_since INTEGER, problem TEXT,
    PRIMARY KEY (task_id, id)) WITHOUT ROWID;
  CREATE INDEX pushes_active ON pushes (task_id, id) WHERE state = 'active';
  CREATE INDEX pushes_dead ON pushes (task_id, id) WHERE state = 'dead';
  CREATE TABLE counts (owner TEXT NOT NULL, state TEXT NOT NULL, tasks INTEGER NOT NULL,
    PRIMARY KEY (owner, state)) WITHOUT ROWID;
  INSERT INTO counts VALUES ('ann', 'input-required', 1), ('ann', 'completed', 1);

  INSERT INTO tasks VALUES (10, 't4', 'ann', 'c2', 'greeter', 1, 'completed', 7000, 4000, 1, 1, NULL, 0);
  UPDATE counts SET tasks = 2 WHERE state = 'completed';
  PRAGMA user_version = 3;
`;

test("a database of version 1 is upgraded with all its data", async () => {
  const folder = temporaryFolder();
  const old = new DatabaseSync(join(folder, "tasks.db"));
  old.exec(VERSION_1);
  old.close();

  const backend = await openSqliteBackend({ folder });

  const record = {
    taskId: "t1",
    owner: "ann",
    contextId: "c1",
    agent: "greeter",
    epoch: 2,
    head: 3,
    state: "input-required",
    statusAt: 2000,
    createdAt: 1000,
    listed: true,
    compacted: false,
  };
  const snapshot = { seq: 2, json: '{"fold":2}' };
  expect(await backend.tasks.get("t1")).toEqual({ ...record, snapshot });
  expect(await backend.tasks.list({ owner: "ann", limit: 9 })).toEqual({
    records: [record],
    total: 1,
  });
  expect(await backend.tasks.unfinished("", 9)).toEqual([record]);
  expect(await backend.tasks.waking(9)).toEqual([]);
  expect(await backend.read("t1", 0, 9)).toEqual(
    [1, 2, 3].map((seq) => ({ seq, json: `{"e":${seq}}` })),
  );
  const step = {
    taskId: "t1",
    epoch: 2,
    events: ['{"e":4}'],
    state: "working",
    statusAt: 3000,
    listed: true,
  } as const;
  expect(await backend.commit({ ...step, message: { messageId: "m1", digest: "d2" } })).toEqual({
    kind: "duplicate",
    taskId: "t1",
    digest: "d1",
  });
  expect(await backend.commit({ ...step, wakeAt: 4000 })).toEqual({ kind: "committed", head: 4 });
  // Events of earlier versions have no commit time.
  expect((await backend.read("t1", 2, 9)).map(({ at }) => at)).toEqual([
    undefined,
    expect.any(Number),
  ]);
  expect(await backend.tasks.waking(9)).toEqual([
    { ...record, head: 4, state: "working", statusAt: 3000, wakeAt: 4000 },
  ]);
  await backend.close();
  const db = new DatabaseSync(join(folder, "tasks.db"));
  expect(schemaVersion(db)).toBe(MIGRATIONS.length);
  db.close();
});

test("a database of version 2 is upgraded, and its old tasks can be compacted and pruned", async () => {
  const folder = temporaryFolder();
  const old = new DatabaseSync(join(folder, "tasks.db"));
  old.exec(VERSION_2);
  old.close();

  const backend = await openSqliteBackend({ folder });

  const { retention } = backend;
  expect(await retention.compactable(9_000, 9)).toMatchObject([
    { taskId: "t2", head: 3, compacted: false },
    { taskId: "t3", head: 0, compacted: false },
  ]);
  expect(await retention.compact("t2", { seq: 3, json: "{}" })).toBe(true);
  expect(await backend.read("t2", 0, 9)).toEqual([{ seq: 3, json: '{"e":3}' }]);
  expect(await retention.prune({ endedBefore: 9_000, keep: 0, limit: 9 })).toHaveLength(2);
  expect(await backend.tasks.get("t2")).toBeUndefined();
  expect(await backend.tasks.get("t1")).toMatchObject({ head: 3 });
  // The message has no time of its own, so the time of the last status is used.
  expect(await retention.forgetMessages(5_000, 9)).toBe(0);
  expect(await retention.forgetMessages(5_001, 9)).toBe(1);
  expect(await backend.pushes.put("t1", { id: "p1", config: "{}", cursor: 3 })).toMatchObject({
    generation: 1,
  });
  await backend.close();
});

test("a database of version 3 is upgraded, and records expired contexts from then on", async () => {
  const folder = temporaryFolder();
  const old = new DatabaseSync(join(folder, "tasks.db"));
  old.exec(VERSION_3);
  old.close();

  const backend = await openSqliteBackend({ folder });

  expect(await backend.tasks.list({ owner: "ann", limit: 9 })).toMatchObject({ total: 3 });
  expect(await backend.retention.prune({ endedBefore: 9_000, keep: 9, limit: 9 })).toHaveLength(3);
  const opening = async (contextId: string) =>
    backend.commit({
      taskId: `a task in ${contextId}`,
      create: { owner: "ann", contextId, agent: "greeter", createdAt: 8000, unlessForgotten: true },
      epoch: 1,
      events: [],
      state: "submitted",
      statusAt: 8000,
      listed: true,
    });
  // A waiting task of the first context is left.
  expect(await opening("c1")).toMatchObject({ kind: "committed" });
  expect(await opening("c2")).toEqual({ kind: "forgotten" });
  await backend.close();
});

test.each([
  ["1", VERSION_1],
  ["2", VERSION_2],
  ["3", VERSION_3],
])("an upgraded database of version %s has the same schema as a new one", (_, version) => {
  const old = new DatabaseSync(":memory:");
  old.exec(version);
  const fresh = new DatabaseSync(":memory:");

  migrate(old);
  migrate(fresh);

  expect(schemaVersion(old)).toBe(schemaVersion(fresh));
  expect(parts(old)).toEqual(parts(fresh));
  old.close();
  fresh.close();
});

test("a database of a newer version is rejected in one sentence that names both", async () => {
  const folder = temporaryFolder();
  const newer = new DatabaseSync(join(folder, "tasks.db"));
  newer.exec(`PRAGMA user_version = ${MIGRATIONS.length + 1}`);
  newer.close();

  await expect(openSqliteBackend({ folder })).rejects.toThrow(
    `The data folder ${folder} cannot be used (its schema has version ${MIGRATIONS.length + 1} and this software knows only up to version ${MIGRATIONS.length})`,
  );
});

test("migrations run once, in order, and one that fails leaves the previous version", () => {
  const db = new DatabaseSync(":memory:");
  migrate(db, ["CREATE TABLE a (x)"]);

  migrate(db, ["CREATE TABLE a (x)", "INSERT INTO a VALUES (1)"]);
  expect(() =>
    migrate(db, ["", "", "INSERT INTO a VALUES (2); INSERT INTO missing VALUES (3)"]),
  ).toThrow("missing");

  expect(db.isTransaction).toBe(false);
  expect(schemaVersion(db)).toBe(2);
  expect(db.prepare("SELECT x FROM a").all()).toEqual([{ x: 1 }]);
  db.close();
});

/** Every table and index as it was created, ignoring white space. */
function parts(db: DatabaseSync): readonly string[] {
  return db
    .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
    .all()
    .map((row) => String(row["sql"]).replaceAll(/\s+/g, ""));
}
