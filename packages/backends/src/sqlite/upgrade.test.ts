import { hash } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { MIGRATIONS, migrate } from "./schema.ts";
import { openSqliteBackend } from "./sqlite-backend.ts";
import { temporaryFolder } from "./temporary-folder.suite.ts";

// Databases of every version, filled as a program of that version did. `schema.test.ts` has the first
// three versions as they were released, and what becomes of their data in detail.

/**
 * The released migrations. A changed digest means that databases of users differ from what their version
 * says: take the change back, and add a migration. A release adds the digests of its new migrations.
 */
const RELEASED = [
  "10e6d1b2b8b56751",
  "e77a673030dd5c16",
  "4e008cc387d4085d",
  "d92fb7d1b1abc75a",
  "b7ba7db53ccac883",
  "6099e262ed73e2d9",
  "8959641a5e512801",
  "4e73b0ae2abc0b1f",
  "50d0898d060d21df",
  "28fc201c5ab47c7b",
];

test("no released migration was edited", () => {
  const digests = MIGRATIONS.map((sql) => hash("sha256", sql, "hex").slice(0, 16));
  expect(digests.slice(0, RELEASED.length)).toEqual(RELEASED);
});

/** What a program of a version writes for a task that waits and for one that has ended. */
const ROWS: readonly { readonly since: number; readonly until?: number; readonly sql: string }[] = [
  {
    since: 1,
    sql: `
      INSERT INTO tasks (n, task_id, owner, context, agent, epoch, state, status_at, created_at, listed, ended)
      VALUES (7, 't1', 'ann', 'c1', 'greeter', 2, 'input-required', 2000, 1000, 1, 0),
        (8, 't2', 'ann', 'c1', 'greeter', 1, 'completed', 5000, 4000, 1, 1);
      INSERT INTO segments (task, first, last, body)
      VALUES (7, 1, 2, '{"e":1}' || char(10) || '{"e":2}'), (7, 3, 3, '{"e":3}'), (8, 1, 1, '{"e":1}');
      INSERT INTO snapshots (task, seq, json) VALUES (7, 2, '{"fold":2}');
      -- The first 48 bits of sha256("ann" line break "m1")
      INSERT INTO messages (hash, owner, message_id, task_id, digest)
      VALUES (84825191316279, 'ann', 'm1', 't1', 'd1')`,
  },
  { since: 2, sql: "UPDATE tasks SET wake_at = 9000 WHERE n = 7" },
  {
    since: 3,
    sql: `
      UPDATE messages SET task = 7, at = 1000;
      INSERT INTO pushes (task_id, id, config, generation, cursor, state)
      VALUES ('t1', 'p1', '{}', 1, 3, 'active')`,
  },
  {
    since: 3,
    until: 6,
    sql: "INSERT INTO counts (owner, state, tasks) VALUES ('ann', 'input-required', 1), ('ann', 'completed', 1)",
  },
  {
    since: 4,
    until: 6,
    sql: "INSERT INTO pruned_contexts (owner, context, at) VALUES ('ann', 'gone', 3000)",
  },
  {
    since: 7,
    sql: `
      INSERT INTO counts (owner, agent_id, state, tasks)
      VALUES ('ann', '', 'input-required', 1), ('ann', '', 'completed', 1);
      INSERT INTO expired_contexts (owner, context, agent_id, at) VALUES ('ann', 'gone', '', 3000)`,
  },
  { since: 8, sql: "UPDATE segments SET at = 1500" },
  { since: 10, sql: "INSERT INTO erasures (id, json) VALUES ('e1', '{}')" },
];

test.each(MIGRATIONS.map((_, index) => index + 1))(
  "a database of version %i is opened with all of its tasks, messages, pushes and contexts",
  async (version) => {
    const folder = temporaryFolder();
    const old = new DatabaseSync(join(folder, "tasks.db"));
    migrate(old, MIGRATIONS.slice(0, version));
    for (const { since, until = Infinity, sql } of ROWS) {
      if (version >= since && version <= until) old.exec(sql);
    }
    old.close();

    const backend = await openSqliteBackend({ folder });
    onTestFinished(() => backend.close());

    const { records, total } = await backend.tasks.list({ owner: "ann", limit: 9 });
    expect(records.map(({ taskId, state }) => [taskId, state])).toEqual([
      ["t2", "completed"],
      ["t1", "input-required"],
    ]);
    expect(total).toBe(2);
    const log = await backend.read("t1", 0, 9);
    expect(log.map(({ json }) => json)).toEqual(['{"e":1}', '{"e":2}', '{"e":3}']);
    expect(await backend.tasks.get("t1")).toMatchObject({ snapshot: { seq: 2 }, head: 3 });
    expect(await backend.tasks.waking(9)).toHaveLength(version >= 2 ? 1 : 0);
    expect(await backend.pushes.ofTask("t1")).toHaveLength(version >= 3 ? 1 : 0);
    expect(await backend.retention.erasures()).toHaveLength(version >= 10 ? 1 : 0);
    const step = { epoch: 2, events: ['{"e":4}'], state: "working", statusAt: 6000 } as const;
    const repeated = { messageId: "m1", digest: "d1" };
    const again = { taskId: "t1", ...step, listed: true };
    expect(await backend.commit({ ...again, message: repeated })).toMatchObject({
      kind: "duplicate",
    });
    expect(await backend.commit(again)).toEqual({ kind: "committed", head: 4 });
    const create = { owner: "ann", contextId: "gone", agent: "greeter", createdAt: 7000 };
    const opening = {
      taskId: "t3",
      create: { ...create, unlessForgotten: true },
      ...step,
    } as const;
    expect(await backend.commit({ ...opening, listed: true })).toMatchObject({
      kind: version >= 4 ? "forgotten" : "committed",
    });
  },
);
