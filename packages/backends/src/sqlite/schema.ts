import type { DatabaseSync } from "node:sqlite";

/**
 * The schema as an ordered list of migrations. A released migration is never
 * edited: a change is a new migration at the end.
 *
 * - `segments` has one row per task and transaction, with events joined by line
 *   breaks. The index finds the events after a sequence. The head of a task is the
 *   end of its last segment, so that an append writes a single row.
 * - `ended` duplicates `state` as a flag, so that the index of unfinished tasks
 *   changes only when a task is created and when it ends.
 * - `snapshots` is separate from `tasks`, so that a small change to a task does not
 *   rewrite its snapshot.
 * - `messages` outlive their task, so they refer to it by its id. Message ids are
 *   random, so each insert touches another page of the index; a short hash keeps
 *   the index small. The single writer checks that an id is unique, in the same
 *   transaction that stores it.
 * - `wake_at` is null for most tasks, and its index contains only the others, so the
 *   cost of finding the earliest does not depend on the number of tasks.
 * - `tasks_ended` finds ended tasks, oldest first, separately for compacted logs. A
 *   task is added once, when it ends.
 * - `messages.task` is null once the task was removed. Only those ids can be freed,
 *   and only they are in the index by acceptance time. Messages stored before that
 *   column existed get the time of their task's last status, which is later, so
 *   that no id is freed too early.
 * - `counts` has the number of listed tasks per owner, agent and state, for the totals of
 *   lists.
 * - `pushes` have the id of their task as key, because lists are ordered by it. Few
 *   are active or dead at any time, and each of these states has a partial index.
 * - `tasks_in_context` orders the tasks of a context by creation time: ids may be chosen by
 *   a caller, so they only break ties.
 * - `expired_contexts` has the contexts from which listed tasks were removed, with the
 *   time when the last of them ended. A context without other tasks is expired until
 *   its row is removed, together with the ids of its messages.
 * - `agent_id` is null for tasks of versions in which agents had only a name. `tasks_by_agent`
 *   serves the lists of one of several agents; a context is small, so its tasks are filtered
 *   by agent. Other tables have an empty text instead of null, which a primary key cannot have.
 * - `message_keys` has the ids of messages that came from another store, as the hashes that all stores
 *   can compute. Only a move or a restore adds to it.
 * - `erasures` has what is to be erased, until that is done.
 * - `segments.at` is when the first events were committed, and null in segments of versions without it.
 *   `times` says how long after it the others were, see `encodeTimes`; null if at the same time.
 * - `store` has one row: the id of the commit log, the number of the last record that is in the
 *   database, which is written by the same transaction as the content of these records, and how many
 *   tasks have ended.
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
  `
  ALTER TABLE tasks ADD COLUMN agent_id TEXT;
  `,
  `
  CREATE INDEX tasks_by_agent ON tasks (owner, agent_id, state, status_at, task_id) WHERE listed = 1;

  ALTER TABLE messages ADD COLUMN agent_id TEXT NOT NULL DEFAULT '';
  UPDATE messages SET agent_id = ifnull((SELECT agent_id FROM tasks WHERE n = messages.task), '')
    WHERE task IS NOT NULL;

  DROP TABLE counts;
  CREATE TABLE counts (
    owner TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    state TEXT NOT NULL,
    tasks INTEGER NOT NULL,
    PRIMARY KEY (owner, agent_id, state)
  ) WITHOUT ROWID;
  INSERT INTO counts (owner, agent_id, state, tasks)
    SELECT owner, ifnull(agent_id, ''), state, count(*) FROM tasks WHERE listed = 1
    GROUP BY owner, ifnull(agent_id, ''), state;

  CREATE TABLE expired_contexts (
    owner TEXT NOT NULL,
    context TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (owner, context, agent_id)
  ) WITHOUT ROWID;
  INSERT INTO expired_contexts (owner, context, agent_id, at)
    SELECT owner, context, '', at FROM pruned_contexts;
  DROP TABLE pruned_contexts;
  CREATE INDEX expired_contexts_by_time ON expired_contexts (at);
  `,
  `
  ALTER TABLE segments ADD COLUMN at INTEGER;
  `,
  `
  CREATE TABLE message_keys (
    key TEXT PRIMARY KEY,
    task_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    at INTEGER NOT NULL,
    task INTEGER
  ) WITHOUT ROWID;
  CREATE INDEX message_keys_of_task ON message_keys (task) WHERE task IS NOT NULL;
  CREATE INDEX message_keys_of_gone ON message_keys (at) WHERE task IS NULL;
  `,
  `
  CREATE TABLE erasures (id TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID;
  `,
  `
  ALTER TABLE segments ADD COLUMN times TEXT;
  CREATE TABLE store (log_id TEXT NOT NULL, applied INTEGER NOT NULL, ended INTEGER NOT NULL);
  INSERT INTO store (log_id, applied, ended)
    VALUES (lower(hex(randomblob(8))), 0, (SELECT count(*) FROM tasks WHERE ended = 1));
  `,
];

/** Applies the missing migrations, each in a transaction. */
export function migrate(db: DatabaseSync, migrations: readonly string[] = MIGRATIONS): void {
  refuseNewer(db, migrations);
  const version = schemaVersion(db);
  for (const [index, step] of migrations.entries()) {
    if (index >= version) applyStep(db, step, index + 1);
  }
}

/** Throws if the database was created by a newer version, before anything is changed. */
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
