import type { DatabaseSync } from "node:sqlite";

/**
 * The database, as the ordered list of what was ever done to it. A step that has
 * been released is never edited: a change is a new step at the end.
 *
 * - `segments` has one row for each commit to a task, its events joined by line
 *   breaks. Rows are appended; the index finds "what follows event n". The head
 *   of a task is its last segment, so that an append writes one row.
 * - `ended` says in one bit what `state` says in words, so that the index of what
 *   is unfinished changes only when a task begins and ends.
 * - `snapshots` is apart from `tasks`, so that a small change to a task does not
 *   rewrite its snapshot.
 * - `messages` outlive their task, so they name it by its id. Message ids come in
 *   no order, so each one dirties a page of its index; by a short hash that index
 *   is small. That an id is taken once is checked by the one writer, in the
 *   transaction that takes it.
 * - `wake_at` is null for most tasks, and its index holds only the others: finding
 *   the earliest costs the same however many tasks are stored.
 * - `tasks_ended` finds what has ended, oldest first, apart by whether its log was
 *   compacted; a task enters it once, at its end.
 * - `messages.task` is null once the task is gone. Only those may be forgotten, and
 *   they alone are in the index by the time of acceptance. Those that came before
 *   that time was kept get the time of their task's last status, which is later
 *   than theirs: no id is free too early.
 * - `counts` has how many listed tasks each owner has in each state: a list tells
 *   its total without counting.
 * - `pushes` are keyed by the id of their task, because lists of them are ordered by
 *   it. Few are active or dead at any time, and each of the two has its own index.
 * - `tasks_in_context` orders the tasks of a context by creation time: ids may be chosen by
 *   a caller, so they only break ties.
 * - `pruned_contexts` has the contexts that lost a listed task, with the time when the
 *   last of those ended. One that has no other task is forgotten, until that time is
 *   so long ago that the ids of its messages are free as well.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE tasks (
    n INTEGER PRIMARY KEY,
    task_id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    context TEXT NOT NULL,
    agent TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    state TEXT NOT NULL,
    status_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    listed INTEGER NOT NULL,
    ended INTEGER NOT NULL
  );
  CREATE INDEX tasks_by_state ON tasks (owner, state, status_at, task_id) WHERE listed = 1;
  CREATE INDEX tasks_of_context ON tasks (owner, context, task_id) WHERE listed = 1;
  CREATE INDEX tasks_unfinished ON tasks (task_id) WHERE ended = 0;

  CREATE TABLE segments (
    task INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    body TEXT NOT NULL
  );
  CREATE UNIQUE INDEX segments_of_task ON segments (task, last);

  CREATE TABLE snapshots (
    task INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    json TEXT NOT NULL
  );

  CREATE TABLE messages (
    hash INTEGER NOT NULL,
    owner TEXT NOT NULL,
    message_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    digest TEXT NOT NULL
  );
  CREATE INDEX messages_by_hash ON messages (hash);
  `,
  `
  ALTER TABLE tasks ADD COLUMN wake_at INTEGER;
  CREATE INDEX tasks_waking ON tasks (wake_at, task_id) WHERE wake_at IS NOT NULL;
  `,
  `
  ALTER TABLE tasks ADD COLUMN compacted INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX tasks_ended ON tasks (compacted, status_at) WHERE ended = 1;

  ALTER TABLE messages ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE messages ADD COLUMN task INTEGER;
  UPDATE messages SET (task, at) = (SELECT n, status_at FROM tasks WHERE task_id = messages.task_id)
    WHERE EXISTS (SELECT 1 FROM tasks WHERE task_id = messages.task_id);
  CREATE INDEX messages_of_task ON messages (task) WHERE task IS NOT NULL;
  CREATE INDEX messages_of_gone ON messages (at) WHERE task IS NULL;

  CREATE TABLE pushes (
    task_id TEXT NOT NULL,
    id TEXT NOT NULL,
    config TEXT NOT NULL,
    generation INTEGER NOT NULL,
    cursor INTEGER NOT NULL,
    state TEXT NOT NULL,
    failing_since INTEGER,
    problem TEXT,
    PRIMARY KEY (task_id, id)
  ) WITHOUT ROWID;
  CREATE INDEX pushes_active ON pushes (task_id, id) WHERE state = 'active';
  CREATE INDEX pushes_dead ON pushes (task_id, id) WHERE state = 'dead';

  CREATE TABLE counts (
    owner TEXT NOT NULL,
    state TEXT NOT NULL,
    tasks INTEGER NOT NULL,
    PRIMARY KEY (owner, state)
  ) WITHOUT ROWID;
  INSERT INTO counts (owner, state, tasks)
    SELECT owner, state, count(*) FROM tasks WHERE listed = 1 GROUP BY owner, state;
  `,
  `
  CREATE TABLE pruned_contexts (
    owner TEXT NOT NULL,
    context TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (owner, context)
  ) WITHOUT ROWID;
  CREATE INDEX pruned_contexts_by_time ON pruned_contexts (at);
  `,
  `
  CREATE INDEX tasks_in_context ON tasks (owner, context, created_at, task_id) WHERE listed = 1;
  DROP INDEX tasks_of_context;
  `,
];

/** Brings the database to the newest version, each step all or nothing. */
export function migrate(db: DatabaseSync, migrations: readonly string[] = MIGRATIONS): void {
  refuseNewer(db, migrations);
  const version = schemaVersion(db);
  for (const [index, step] of migrations.entries()) {
    if (index >= version) applyStep(db, step, index + 1);
  }
}

/** Throws when the database is of a later software, before anything is done to it. */
export function refuseNewer(db: DatabaseSync, migrations: readonly string[] = MIGRATIONS): void {
  const version = schemaVersion(db);
  if (version > migrations.length) {
    throw new Error(
      `its schema has version ${version} and this software knows only up to version ${migrations.length}`,
    );
  }
}

function applyStep(db: DatabaseSync, step: string, version: number): void {
  db.exec("BEGIN IMMEDIATE");
  try {
    db.exec(`${step}; PRAGMA user_version = ${version}; COMMIT`);
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

export function schemaVersion(db: DatabaseSync): number {
  return Number(db.prepare("PRAGMA user_version").get()?.["user_version"]);
}
