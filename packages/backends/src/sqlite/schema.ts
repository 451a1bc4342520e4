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
];

/** Brings the database to the newest version, each step all or nothing. */
export function migrate(db: DatabaseSync, migrations: readonly string[] = MIGRATIONS): void {
  const version = schemaVersion(db);
  if (version > migrations.length) {
    throw new Error(
      `its schema has version ${version} and this software knows only up to version ${migrations.length}`,
    );
  }
  for (const [index, step] of migrations.entries()) {
    if (index >= version) applyStep(db, step, index + 1);
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
