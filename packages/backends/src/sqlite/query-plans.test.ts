import { DatabaseSync } from "node:sqlite";
import type { Backend, TaskIndex, TaskQuery } from "@convoke/engine";
import { describe, expect, onTestFinished, vi } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { BatchWriter } from "./batch-writer.ts";
import { migrate } from "./schema.ts";
import { openSqliteBackend } from "./sqlite-backend.ts";
import { temporaryFolder } from "./temporary-folder.suite.ts";

/**
 * Access paths whose cost does not depend on the number of stored tasks: by a complete key, or
 * along an index in its own order, up to a LIMIT or for no more rows than the result has.
 */
const CONSTANT: ReadonlySet<string> = new Set([
  "tasks by rowid=?",
  "tasks by task_id=?",
  "tasks by task_id>?",
  "tasks by task_id<?",
  "tasks by wake_at>?",
  "tasks by compacted=? AND status_at<?",
  "tasks by owner=? AND context=? AND (created_at,task_id)<(?,?)",
  "tasks by owner=? AND state=?",
  "tasks by owner=? AND state=? AND status_at<?",
  "tasks by owner=? AND state=? AND status_at>?",
  "tasks by owner=? AND state=? AND status_at>? AND status_at<?",
  "tasks by owner=? AND state=? AND (status_at,task_id)<(?,?)",
  "tasks by owner=? AND state=? AND status_at>? AND (status_at,task_id)<(?,?)",
  "tasks by owner=? AND agent_id=? AND state=?",
  "tasks by owner=? AND agent_id=? AND state=? AND status_at<?",
  "tasks by owner=? AND agent_id=? AND state=? AND status_at>?",
  "tasks by owner=? AND agent_id=? AND state=? AND status_at>? AND status_at<?",
  "tasks by owner=? AND agent_id=? AND state=? AND (status_at,task_id)<(?,?)",
  "tasks by owner=? AND agent_id=? AND state=? AND status_at>? AND (status_at,task_id)<(?,?)",
  "segments by task=?",
  "segments by task=? AND last=?",
  "segments by task=? AND last<?",
  "segments by task=? AND last>?",
  "snapshots by rowid=?",
  "messages by hash=?",
  "messages by rowid=?",
  "messages by task=?",
  "messages by at<?",
  "pushes by task_id=?",
  "pushes by task_id=? AND id=?",
  "pushes by (task_id,id)>(?,?)",
  "pushes by all of pushes_active",
  "pushes by all of pushes_dead",
  "counts by owner=?",
  "counts by owner=? AND agent_id=?",
  "counts by owner=? AND agent_id=? AND state=?",
  "expired_contexts by owner=? AND context=?",
  "expired_contexts by owner=? AND context=? AND agent_id=?",
  "expired_contexts by at<?",
  "erasures by id=?",
]);

describe("with a million stored tasks as with a thousand,", () => {
  verifies("G9", "no statement that writes scans the stored data", () => {
    expect(growing(statementsOfWriter())).toEqual([
      // Whether there are ids of another store: the first one is enough.
      "message_keys by all of its rows",
      // An owner is forgotten once, after its tasks were erased.
      "messages by all of messages_of_gone",
      // Whether a context has a task left, or one of an agent: the first one is enough.
      "tasks by owner=? AND context=?",
      // Likewise, when an owner is forgotten.
      "expired_contexts by owner=?",
      // It has one row.
      "store by all of its rows",
      // The greatest id is the last one of its index.
      "tasks by SEARCH tasks USING COVERING INDEX sqlite_autoindex_tasks_1",
      // It stops at the first task that may stay.
      "tasks by compacted=? AND status_at>?",
      // Those that are spared, from the index alone, if there are more tasks than are kept.
      "count of tasks by compacted=? AND status_at<?",
    ]);
  });

  verifies("G9", "no statement that reads does, except for what lists count and sort", async () => {
    expect(growing(await statementsOfReader())).toEqual([
      // The total of a list since a time, among those that it counts.
      "count of tasks by owner=? AND state=? AND status_at>?",
      // A list of one context, among the tasks of that context.
      "count of tasks by owner=? AND context=?",
      "tasks by owner=? AND context=?",
      "count of tasks by owner=? AND agent_id=? AND state=? AND status_at>?",
      "tasks by owner=? AND context=? AND created_at<?",
    ]);
  });
});

/** All statements that write: the writer prepares everything that it runs. */
function statementsOfWriter(): readonly string[] {
  const db = emptyDatabase();
  const prepared = preparedFromNowOn();
  new BatchWriter(db, { terminal: new Set(), followers: new Map() });
  db.close();
  return prepared();
}

/** All statements that reads prepare. */
async function statementsOfReader(): Promise<readonly string[]> {
  const backend = await openSqliteBackend({ folder: temporaryFolder() });
  const prepared = preparedFromNowOn();
  const { tasks, pushes, retention } = backend;
  for (const read of Object.values(TASK_READS)) await read(tasks);
  await backend.read("t", 0, 9);
  await pushes.get("t", "p");
  await pushes.ofTask("t");
  for (const state of ["active", "dead"] as const) {
    for (const owner of [{}, { owner: "ann" }]) {
      await pushes.list({ state, limit: 9, ...owner });
      await pushes.list({ state, limit: 9, ...owner, after: { taskId: "t", id: "p" } });
    }
  }
  await retention.compactable(9, 9);
  await backend.close();
  return prepared();
}

const OF_ANN = { owner: "ann", limit: 9 };

/** Each query of the index; a new one does not compile until it is added here. */
const TASK_READS: Readonly<Record<keyof TaskIndex, (tasks: Backend["tasks"]) => Promise<unknown>>> =
  {
    get: (tasks) => tasks.get("t"),
    record: (tasks) => tasks.record("t"),
    list: (tasks) => Promise.all(lists().map((query) => tasks.list(query))),
    ofContext: async (tasks) => {
      const context = { ...OF_ANN, contextId: "c", before: { createdAt: 9, taskId: "t" } };
      await tasks.ofContext(context);
      await tasks.ofContext({ ...context, agentId: "a" });
    },
    changedSince: async (tasks) => {
      await tasks.changedSince({ owner: "ann", at: 5 });
      await tasks.changedSince({ owner: "ann", contextId: "c", at: 5 });
      await tasks.changedSince({ owner: "ann", agentId: "a", at: 5 });
      await tasks.changedSince({ owner: "ann", agentId: "a", contextId: "c", at: 5 });
    },
    unfinished: (tasks) => tasks.unfinished("", 9),
    newest: async (tasks) => {
      await tasks.newest({ limit: 9 });
      await tasks.newest({ isUnfinished: true, limit: 9 });
    },
    waking: (tasks) => tasks.waking(9),
  };

/**
 * A list with and without each filter, in every combination, with its first page and a later one.
 */
function lists(): readonly TaskQuery[] {
  const filters: readonly Partial<TaskQuery>[] = [
    { agentId: "a" },
    { contextId: "c" },
    { state: "working" },
    { since: 1 },
    { until: 9 },
    { after: { statusAt: 5, taskId: "t" } },
  ];
  return filters.reduce<readonly TaskQuery[]>(
    (queries, filter) => queries.flatMap((query) => [query, { ...query, ...filter }]),
    [OF_ANN],
  );
}

/** The texts of all statements that are prepared in this thread during the test. */
function preparedFromNowOn(): () => readonly string[] {
  const spy = vi.spyOn(DatabaseSync.prototype, "prepare");
  onTestFinished(() => spy.mockRestore());
  return () => [...new Set(spy.mock.calls.map(([sql]) => sql))];
}

/** The access paths whose cost depends on the number of rows, each once. */
function growing(statements: readonly string[]): readonly string[] {
  const db = emptyDatabase();
  const ways = statements
    .filter((sql) => !sql.startsWith("PRAGMA"))
    .flatMap((sql) => {
      // A count reads everything that it counts, on any path.
      const isCount = /^\s*SELECT count\(/.test(sql);
      return waysOf(db, sql).map((way) => (isCount ? `count of ${way}` : way));
    });
  db.close();
  expect(ways.length).toBeGreaterThan(20);
  return [...new Set(ways)].filter((way) => !CONSTANT.has(way));
}

/** How a statement accesses the rows of each table. */
function waysOf(db: DatabaseSync, sql: string): readonly string[] {
  const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
  return plan.flatMap(({ detail }) => {
    const step = String(detail);
    // Rows that a statement creates itself, such as the pages of nine states, are not a table.
    const [, isScan, table, index] =
      /^(?:(SCAN)|SEARCH) (\w+)(?: .*?INDEX (\w+))?/.exec(step) ?? [];
    if (table === undefined) return [];
    if (isScan !== undefined) return [`${table} by all of ${index ?? "its rows"}`];
    return [`${table} by ${/ \((.+)\)(?: LEFT-JOIN)?$/.exec(step)?.[1] ?? step}`];
  });
}

function emptyDatabase(): DatabaseSync {
  const db = new DatabaseSync(":memory:");
  migrate(db);
  return db;
}
