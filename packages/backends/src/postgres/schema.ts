import { TASK_STATES, type TaskState } from "@convoke/protocol";
import type { PushState } from "@convoke/engine";

/**
 * A change of the schema. A text is executed in one transaction. An index of a table that may be large
 * is built beside, while others write: `on` is what follows `ON`. What older programs cannot work with
 * has `minSoftware`, the number of migrations that a program must know from then on.
 */
export type Migration =
  | string
  | { readonly index: string; readonly on: string }
  | { readonly sql: string; readonly minSoftware: number };

/**
 * The schema as an ordered list of migrations. A released migration is never edited: a change is a
 * new migration at the end. Processes of two versions use the same database during an upgrade, so a
 * migration only adds: a table, a nullable column, an index. What it replaces is removed one release
 * later, by a migration with `minSoftware`. `@.` stands for the schema.
 *
 * - `segment` has one row per task and commit, with the events as one text. Its primary key is what
 *   keeps two processes from writing to the same place of a log. The head of a task is the end of
 *   its last segment, so that a plain append inserts one row and changes none.
 * - `task.n` contains the day of creation, so that `segment` can be partitioned by it: all segments
 *   of a task are in one partition, and the primary key covers the whole log.
 * - `task.run_by` is the replica whose agent works on the task; 0: it was released and any replica
 *   may continue it; null: nobody has to work on it.
 * - `task.host` is the host on which the task has to run; empty: on any. It is in the indexes of what
 *   can be claimed, so that tasks that wait for a host cost the other hosts nothing.
 * - Texts have `COLLATE "C"`: ids sort by bytes.
 * - `task_in_context` says that there is a context, which is always true, so that only queries that
 *   name one use it.
 * - Each agent has its own message ids and contexts. `counts` and `pruned_context` have an empty text
 *   for tasks without an agent id, because a primary key cannot be null.
 * - `message.key` is a hash of owner, agent and message id. `task` is null once the task was removed.
 *   `entry` is the mailbox entry that contains the message, until a step handles it.
 * - `counts` and `ended_count` are kept in shards, so that replicas do not wait for each other's
 *   commits because of a row that all of them update.
 * - `endpoint` has the push endpoints (origin and path of the URL) that a replica delivers to, so
 *   that one process decides when to try a failing endpoint again.
 * - `kv` has small values such as API keys and grants. Versions come from a sequence, so that a value
 *   that was deleted and written again has another one.
 * - `rate` counts requests: tokens of a bucket, or the last times. It is not logged, because after a
 *   crash of the database it may begin anew.
 * - `registry` has entries of the registry of agents that earlier versions had; see `old-registry.ts`.
 */
export const MIGRATIONS: readonly Migration[] = [
  `
  CREATE TABLE @.replica (
    n int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    until timestamptz NOT NULL,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    host text NOT NULL,
    software text NOT NULL
  );

  CREATE SEQUENCE @.task_n;
  CREATE TABLE @.task (
    n bigint PRIMARY KEY,
    task_id text COLLATE "C" NOT NULL,
    owner text COLLATE "C" NOT NULL,
    context text COLLATE "C" NOT NULL,
    agent text NOT NULL,
    agent_id text COLLATE "C",
    epoch bigint NOT NULL,
    state smallint NOT NULL,
    status_at bigint NOT NULL,
    created_at bigint NOT NULL,
    listed boolean NOT NULL,
    ended boolean NOT NULL,
    compacted boolean NOT NULL DEFAULT false,
    wake_at bigint,
    run_by int,
    host text COLLATE "C" NOT NULL DEFAULT ''
  ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
  CREATE UNIQUE INDEX task_by_id ON @.task (task_id);
  CREATE INDEX task_by_state ON @.task (owner, state, status_at, task_id) WHERE listed;
  CREATE INDEX task_by_agent ON @.task (owner, agent_id, state, status_at, task_id) WHERE listed;
  CREATE INDEX task_in_context ON @.task (owner, context, created_at, task_id)
    WHERE listed AND context IS NOT NULL;
  CREATE INDEX task_unfinished ON @.task (task_id) WHERE NOT ended;
  CREATE INDEX task_waking ON @.task (wake_at, task_id) WHERE wake_at IS NOT NULL;
  CREATE INDEX task_running ON @.task (run_by, host, n) WHERE run_by IS NOT NULL;
  CREATE INDEX task_due ON @.task (host, wake_at, task_id) WHERE wake_at IS NOT NULL AND run_by IS NULL;
  CREATE INDEX task_local ON @.task (host) WHERE host <> '' AND NOT ended;
  CREATE INDEX task_ended ON @.task (status_at, n) WHERE ended;
  CREATE INDEX task_whole ON @.task (status_at, n) WHERE ended AND NOT compacted;

  CREATE TABLE @.segment (
    task bigint NOT NULL,
    first int NOT NULL,
    last int NOT NULL,
    epoch bigint NOT NULL,
    at bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (task, first)
  ) PARTITION BY RANGE (task);
  CREATE TABLE @.segment_rest PARTITION OF @.segment DEFAULT;

  CREATE TABLE @.snapshot (task bigint PRIMARY KEY, seq int NOT NULL, json text NOT NULL);

  CREATE TABLE @.message (
    key uuid PRIMARY KEY,
    task_id text NOT NULL,
    digest text NOT NULL,
    at bigint NOT NULL,
    task bigint,
    entry bigint
  );
  CREATE INDEX message_of_task ON @.message (task) WHERE task IS NOT NULL;
  CREATE INDEX message_of_gone ON @.message (at) WHERE task IS NULL;
  CREATE INDEX message_of_entry ON @.message (entry) WHERE entry IS NOT NULL;

  CREATE TABLE @.mailbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task bigint NOT NULL,
    kind text NOT NULL,
    json text NOT NULL,
    message_id text,
    digest text
  );
  CREATE INDEX mailbox_of_task ON @.mailbox (task, id);

  CREATE TABLE @.push (
    task_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    config text NOT NULL,
    endpoint text COLLATE "C" NOT NULL,
    generation int NOT NULL,
    cursor int NOT NULL,
    state smallint NOT NULL,
    failing_since bigint,
    problem text,
    PRIMARY KEY (task_id, id)
  );
  CREATE INDEX push_active ON @.push (task_id, id) WHERE state = 0;
  CREATE INDEX push_dead ON @.push (task_id, id) WHERE state = 2;
  CREATE INDEX push_endpoint ON @.push (endpoint) WHERE state = 0;
  CREATE TABLE @.endpoint (key text COLLATE "C" PRIMARY KEY, run_by int NOT NULL);
  CREATE INDEX endpoint_of_replica ON @.endpoint (run_by);

  CREATE TABLE @.counts (
    owner text COLLATE "C" NOT NULL,
    agent_id text COLLATE "C" NOT NULL,
    state smallint NOT NULL,
    shard smallint NOT NULL,
    tasks bigint NOT NULL,
    PRIMARY KEY (owner, agent_id, state, shard)
  ) WITH (fillfactor = 50);
  CREATE TABLE @.ended_count (shard smallint PRIMARY KEY, tasks bigint NOT NULL) WITH (fillfactor = 50);

  CREATE TABLE @.pruned_context (
    owner text COLLATE "C" NOT NULL,
    context text COLLATE "C" NOT NULL,
    agent_id text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (owner, context, agent_id)
  );
  CREATE INDEX pruned_context_by_time ON @.pruned_context (at);

  CREATE SEQUENCE @.kv_version;
  CREATE TABLE @.kv (
    collection text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    value text NOT NULL,
    version bigint NOT NULL DEFAULT nextval('@.kv_version'),
    PRIMARY KEY (collection, key)
  );

  CREATE TABLE @.registry (
    id text COLLATE "C" PRIMARY KEY,
    owner text COLLATE "C" NOT NULL,
    url text COLLATE "C" NOT NULL,
    json text NOT NULL,
    version int NOT NULL DEFAULT 1,
    UNIQUE (owner, url)
  );

  CREATE UNLOGGED TABLE @.rate (
    key uuid PRIMARY KEY,
    tokens float8 NOT NULL,
    granted int NOT NULL,
    at float8 NOT NULL,
    full_at float8 NOT NULL,
    times float8[]
  );
  CREATE INDEX rate_by_end ON @.rate (full_at);

  CREATE TABLE @.audit (
    n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    host text NOT NULL,
    event text NOT NULL,
    json text NOT NULL
  );
  CREATE INDEX audit_by_time ON @.audit (at);
  `,
];

/** The number of a state in the database. A new state is added at the end. */
const STATES = [
  "submitted",
  "working",
  "input-required",
  "auth-required",
  "completed",
  "canceled",
  "failed",
  "rejected",
  "unknown",
] as const satisfies readonly TaskState[];

const PUSH_STATES = ["active", "done", "dead"] as const satisfies readonly PushState[];

export function stateNumber(state: TaskState): number {
  return STATES.indexOf(state);
}

export function stateAt(number: number): TaskState {
  return STATES[number]!;
}

/** The numbers of all states, as a list for SQL. */
export const ALL_STATES = TASK_STATES.map(stateNumber).join(", ");

export function pushStateNumber(state: PushState): number {
  return PUSH_STATES.indexOf(state);
}

export function pushStateAt(number: number): PushState {
  return PUSH_STATES[number]!;
}
