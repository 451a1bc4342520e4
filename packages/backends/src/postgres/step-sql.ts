import { isTerminal } from "@convoke/protocol";
import { packLines } from "../storage/front-coding.ts";
import { type ElementType, toArray } from "./binary-array.ts";
import type { Statement } from "./connection.ts";
import { endpointIn } from "./push-store.ts";
import { stateNumber } from "./schema.ts";
import type { TaskChange, TaskFacts } from "./step-plan.ts";
import { toText } from "./text.ts";

/** A column of the rows that a statement receives, as one array for each. */
interface Column<Row> {
  readonly name: string;
  readonly type: ElementType;
  readonly value: (row: Row) => string | number | boolean | null;
}

function column<Row>(name: string, type: ElementType, value: Column<Row>["value"]): Column<Row> {
  return { name, type, value };
}

/** The rows as a select list. @param from the number of the first parameter */
function rowsSql(columns: readonly Column<never>[], from = 1): string {
  return columns
    .map(({ name, type }, index) => `unnest($${from + index}::${type}[]) AS ${name}`)
    .join(", ");
}

function toArrays<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): readonly Buffer[] {
  return columns.map(({ type, value }) => toArray(type, rows.map(value)));
}

/**
 * The end of the stored log. The primary key of `segment` decides between two that append to it at
 * the same time.
 */
const HEAD =
  "coalesce((SELECT p.last FROM @.segment p WHERE p.task = s.n ORDER BY p.first DESC LIMIT 1), 0)";

/** When a commit is made. */
const NOW = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

const EVENTS: readonly Column<TaskChange>[] = [
  column("first", "int4", ({ before, events }) => (events.length > 0 ? before.head + 1 : null)),
  column("last", "int4", ({ after, events }) => (events.length > 0 ? after.head : null)),
  column("body", "text", ({ events }) => (events.length > 0 ? packLines(events) : null)),
];

const APPENDED: readonly Column<TaskChange>[] = [
  column("n", "int8", ({ after }) => after.n),
  column("epoch", "int8", ({ after }) => after.epoch),
  ...EVENTS,
];

/** Appends events to tasks that do not change otherwise. A task that is not as assumed is left out. */
const APPEND = `
  INSERT INTO @.segment (task, first, last, epoch, at, body)
  SELECT s.n, s.first, s.last, s.epoch, ${NOW}, s.body
  FROM (SELECT ${rowsSql(APPENDED)}) s
  WHERE (SELECT t.epoch FROM @.task t WHERE t.n = s.n AND NOT t.ended) = s.epoch
    AND ${HEAD} = s.first - 1
  ON CONFLICT DO NOTHING
  RETURNING task, NULL`;

/** The columns that creations and changes have in common. */
const COMMON: readonly Column<TaskChange>[] = [
  column("id", "text", ({ taskId }) => toText(taskId)),
  column("epoch", "int8", ({ after }) => after.epoch),
  column("state", "int2", ({ after }) => stateNumber(after.state)),
  column("status_at", "int8", ({ after }) => after.statusAt),
  column("listed", "bool", ({ after }) => after.listed),
  column("ended", "bool", ({ after }) => isTerminal(after.state)),
  column("wake_at", "int8", ({ after }) => after.wakeAt),
  column("run_by", "int4", ({ after }) => after.runBy),
];

const CREATED: readonly Column<TaskChange>[] = [
  ...COMMON,
  column("owner", "text", ({ create }) => toText(create!.owner)),
  column("context", "text", ({ create }) => toText(create!.contextId)),
  column("agent", "text", ({ create }) => toText(create!.agent)),
  column("agent_id", "text", ({ create }) => textOrNull(create!.agentId)),
  column("created_at", "int8", ({ create }) => create!.createdAt),
  column("host", "text", ({ create }) => create!.host ?? ""),
];

const CHANGED: readonly Column<TaskChange>[] = [
  ...COMMON,
  column("n", "int8", ({ before }) => before.n),
  column("old_epoch", "int8", ({ before }) => before.epoch),
  column("old_state", "int2", ({ before }) => stateNumber(before.state)),
  column("old_listed", "bool", ({ before }) => before.listed),
  column("head", "int4", ({ before }) => before.head),
  column(
    "sets_wake",
    "bool",
    ({ after, wakeAt }) => isTerminal(after.state) || wakeAt !== undefined,
  ),
  column(
    "sets_run",
    "bool",
    ({ after, running }) => isTerminal(after.state) || running !== undefined,
  ),
];

function textOrNull(value: string | undefined): string | null {
  return value === undefined ? null : toText(value);
}

/**
 * Something that changes together with some tasks only. A statement has the parts that its tasks need:
 * each costs something, even for no rows.
 */
interface Part {
  readonly name: string;
  readonly isNeeded: (change: TaskChange) => boolean;
  readonly columns: readonly Column<TaskChange>[];
  /** What it does with `done`, the rows of the tasks that were changed. */
  readonly sql?: string;
}

const LOG: Part = {
  name: "log",
  isNeeded: ({ events }) => events.length > 0,
  columns: EVENTS,
  sql: `appended AS (
    INSERT INTO @.segment (task, first, last, epoch, at, body)
    SELECT n, first, last, epoch, ${NOW}, body FROM done WHERE body IS NOT NULL)`,
};

const MESSAGE_COLUMNS: readonly Column<TaskChange>[] = [
  column("message_key", "uuid", ({ message }) => message?.key ?? null),
  column("digest", "text", ({ message }) => textOrNull(message?.digest)),
  column("message_at", "int8", ({ message }) => message?.at ?? null),
];

/** The transaction fails if the message is not new. */
const FIRST_MESSAGE: Part = {
  name: "first message",
  isNeeded: ({ message }) => message !== undefined,
  columns: MESSAGE_COLUMNS,
  sql: acceptSql(),
};

/** The same, unless the message is in a mailbox entry that the steps handle. */
const MESSAGE: Part = {
  name: "message",
  isNeeded: ({ message }) => message !== undefined,
  columns: [...MESSAGE_COLUMNS, column("entries", "text", ({ mailbox }) => `{${mailbox.join()}}`)],
  sql: acceptSql(`AND (SELECT m.entry = ANY (entries::bigint[]) FROM @.message m
      WHERE m.key = message_key) IS NOT TRUE`),
};

function acceptSql(condition = ""): string {
  return `accepted AS (
    INSERT INTO @.message (key, task_id, digest, at, task)
    SELECT message_key, id, digest, message_at, n FROM done
    WHERE message_key IS NOT NULL ${condition}
    ORDER BY message_key)`;
}

const HANDLED_ENTRIES: Part = {
  name: "handled entries",
  isNeeded: ({ mailbox }) => mailbox.length > 0,
  columns: [column("mailbox", "text", ({ mailbox }) => `{${mailbox.join()}}`)],
  sql: `handled AS (
    DELETE FROM @.mailbox b USING done
    WHERE b.task = done.n AND b.id = ANY (done.mailbox::bigint[])),
  kept AS (
    UPDATE @.message m SET entry = NULL FROM done WHERE m.entry = ANY (done.mailbox::bigint[]))`,
};

const SNAPSHOT: Part = {
  name: "snapshot",
  isNeeded: ({ snapshot }) => snapshot !== undefined,
  columns: [
    column("snapshot_seq", "int4", ({ snapshot }) => snapshot?.seq ?? null),
    column("snapshot", "text", ({ snapshot }) => snapshot?.json ?? null),
  ],
  sql: `snapped AS (
    INSERT INTO @.snapshot (task, seq, json)
    SELECT n, snapshot_seq, snapshot FROM done WHERE snapshot IS NOT NULL
    ON CONFLICT (task) DO UPDATE SET seq = excluded.seq, json = excluded.json
      WHERE excluded.seq > snapshot.seq)`,
};

const PUSH: Part = {
  name: "push",
  isNeeded: ({ pushes }) => pushes.length > 0,
  columns: [column("pushes", "text", ({ pushes }) => JSON.stringify(pushes.map(pushRow)))],
  sql: `pushed AS (
    INSERT INTO @.push (task_id, id, config, endpoint, generation, cursor, state)
    SELECT done.id, p.id, p.config, p.endpoint, 1, p.cursor, 0
    FROM done CROSS JOIN LATERAL json_to_recordset(done.pushes::json)
      AS p(id text, config text, endpoint text, cursor int)
    ON CONFLICT (task_id, id) DO UPDATE SET generation = push.generation + 1,
      config = excluded.config, endpoint = excluded.endpoint, cursor = excluded.cursor, state = 0, failing_since = NULL, problem = NULL)`,
};

function pushRow({ id, config, cursor }: TaskChange["pushes"][number]): object {
  return { id: toText(id), config, endpoint: endpointIn(config), cursor };
}

const END: Part = {
  name: "end",
  isNeeded: ({ after }) => isTerminal(after.state),
  columns: [],
  sql: `ended AS (
    INSERT INTO @.ended_count (shard, tasks)
    SELECT $1::smallint, count(*) FROM done WHERE ended
    ON CONFLICT (shard) DO UPDATE SET tasks = ended_count.tasks + excluded.tasks)`,
};

/** How the number of listed tasks of an owner and agent in a state changes. */
interface CountChange {
  readonly owner: string;
  readonly agentId: string;
  readonly state: number;
  change: number;
}

const COUNTS: readonly Column<CountChange>[] = [
  column("owner", "text", ({ owner }) => owner),
  column("agent_id", "text", ({ agentId }) => agentId),
  column("state", "int2", ({ state }) => state),
  column("change", "int4", ({ change }) => change),
];

/** `$1` is the shard of the counts, which are the next parameters. The columns of the rows follow. */
const ROWS_FROM = 2 + COUNTS.length;

/** The SQLSTATE with which `CREATE` and `CHANGE` fail: `guard` divides by zero if a task was left out. */
export const NOT_AS_ASSUMED = "22012";

/**
 * Everything that changes together with tasks: `s` has the rows of all, `done` of those that were
 * changed. If that is not possible for all of them, the transaction fails: what was planned for a later
 * step may depend on an earlier one, for example on its message.
 */
function togetherSql(parts: readonly Part[], id: string): string {
  return `
  ${parts.flatMap(({ sql }) => (sql === undefined ? [] : [`${sql},`])).join("\n  ")}
  counted AS (
    INSERT INTO @.counts (owner, agent_id, state, shard, tasks)
    SELECT c.owner, c.agent_id, c.state, $1::smallint, c.change FROM (SELECT ${rowsSql(COUNTS, 2)}) c
    ORDER BY c.owner, c.agent_id, c.state
    ON CONFLICT (owner, agent_id, state, shard) DO UPDATE SET tasks = counts.tasks + excluded.tasks)
  SELECT done.n, ${id} FROM done CROSS JOIN (
    SELECT 1 / ((SELECT count(*) FROM done) = (SELECT count(*) FROM s))::int AS ok) guard
  WHERE guard.ok = 1`;
}

/** A statement that writes tasks, with the parts that it can have. */
interface Writing {
  readonly columns: readonly Column<TaskChange>[];
  readonly parts: readonly Part[];
  readonly sql: (rows: string, parts: readonly Part[]) => string;
  readonly texts: Map<string, string>;
}

/** A context that has expired must not get a new task, unless it has got one meanwhile. */
const UNLESS_FORGOTTEN: Part = {
  name: "unless forgotten",
  isNeeded: ({ mayBeForgotten }) => mayBeForgotten,
  columns: [column("unless_forgotten", "bool", ({ mayBeForgotten }) => mayBeForgotten)],
};

const IS_REMEMBERED = `
  NOT (s.unless_forgotten
    AND (SELECT p.at FROM @.pruned_context p WHERE p.owner = s.owner AND p.context = s.context
      AND p.agent_id = coalesce(s.agent_id, '')) IS NOT NULL
    AND (SELECT t.n FROM @.task t WHERE t.owner = s.owner AND t.context = s.context AND t.listed
      AND t.agent_id IS NOT DISTINCT FROM s.agent_id LIMIT 1) IS NULL)`;

/**
 * Creates tasks: all, or none if one exists already or its message or context does not allow it. The
 * number of a task starts with the day, see `schema.ts`; 2^38 tasks fit after it.
 */
const CREATE: Writing = {
  texts: new Map(),
  columns: CREATED,
  parts: [LOG, FIRST_MESSAGE, SNAPSHOT, PUSH, END, UNLESS_FORGOTTEN],
  sql: (rows, parts) => `
  WITH s AS MATERIALIZED (
    SELECT (floor(extract(epoch FROM now()) / 86400)::bigint << 38) + nextval('@.task_n') AS n, r.*
    FROM (SELECT ${rows}) r),
  created AS (
    INSERT INTO @.task (n, task_id, owner, context, agent, agent_id, epoch, state, status_at, created_at,
      listed, ended, wake_at, run_by, host)
    SELECT n, id, owner, context, agent, agent_id, epoch, state, status_at, created_at,
      listed, ended, wake_at, run_by, host
    FROM s ${parts.includes(UNLESS_FORGOTTEN) ? `WHERE ${IS_REMEMBERED}` : ""}
    ON CONFLICT (task_id) DO NOTHING
    RETURNING n),
  done AS (SELECT s.* FROM s JOIN created ON created.n = s.n),
  ${togetherSql(parts, "done.id")}`,
};

/**
 * Changes tasks: all, or none if one is not as assumed. `IS NOT TRUE` keeps Postgres from walking the
 * index of all unfinished tasks.
 */
const CHANGE: Writing = {
  texts: new Map(),
  columns: CHANGED,
  parts: [LOG, MESSAGE, HANDLED_ENTRIES, SNAPSHOT, PUSH, END],
  sql: (rows, parts) => `
  WITH s AS MATERIALIZED (SELECT ${rows}),
  done AS (
    UPDATE @.task t SET epoch = s.epoch, state = s.state, status_at = s.status_at, listed = s.listed,
      ended = s.ended, wake_at = CASE WHEN s.sets_wake THEN s.wake_at ELSE t.wake_at END,
      run_by = CASE WHEN s.sets_run THEN s.run_by ELSE t.run_by END
    FROM s
    WHERE t.n = s.n AND t.epoch = s.old_epoch AND t.state = s.old_state AND t.listed = s.old_listed
      AND t.ended IS NOT TRUE AND ${HEAD} = s.head
    RETURNING s.*),
  ${togetherSql(parts, "NULL")}`,
};

/**
 * Removes what was posted to tasks that have ended, and frees the ids of its messages. A statement of
 * its own, because the one that ends a task may have waited for a post, which it does not see.
 */
const CLEAR = `
  WITH ended AS MATERIALIZED (
    SELECT t.n FROM unnest($1::bigint[]) AS s(n)
    CROSS JOIN LATERAL (SELECT n FROM @.task WHERE n = s.n AND ended LIMIT 1) t),
  cleared AS (DELETE FROM @.mailbox b USING ended WHERE b.task = ended.n)
  DELETE FROM @.message m USING ended WHERE m.task = ended.n AND m.entry IS NOT NULL`;

/** The statements that write the changes of one batch. Each returns the tasks that it has written. */
export function toStatements(changes: readonly TaskChange[], shard: number): readonly Statement[] {
  const created = changes.filter(({ create }) => create !== undefined);
  const appended = changes.filter(({ isPlain }) => isPlain);
  const changed = changes.filter(({ create, isPlain }) => create === undefined && !isPlain);
  const ended = changed.flatMap(({ after }) => (isTerminal(after.state) ? [after.n] : []));
  return [
    ...(created.length > 0 ? [toStatement(CREATE, created, shard)] : []),
    ...(changed.length > 0 ? [toStatement(CHANGE, changed, shard)] : []),
    ...(ended.length > 0 ? [{ text: CLEAR, values: [toArray("int8", ended)] }] : []),
    ...(appended.length > 0 ? [{ text: APPEND, values: toArrays(APPENDED, appended) }] : []),
  ];
}

function toStatement(writing: Writing, changes: readonly TaskChange[], shard: number): Statement {
  const parts = writing.parts.filter(({ isNeeded }) => changes.some(isNeeded));
  const columns = [...writing.columns, ...parts.flatMap((part) => part.columns)];
  const counts = toArrays(COUNTS, countChanges(changes));
  return {
    text: textOf(writing, parts, () => rowsSql(columns, ROWS_FROM)),
    values: [shard, ...counts, ...toArrays(columns, changes)],
  };
}

/** Composed once: it is long, and the connection recognizes it. */
function textOf({ texts, sql }: Writing, parts: readonly Part[], rows: () => string): string {
  const key = parts.map(({ name }) => name).join();
  const text = texts.get(key) ?? sql(rows(), parts);
  texts.set(key, text);
  return text;
}

function countChanges(changes: readonly TaskChange[]): readonly CountChange[] {
  const counts = new Map<string, CountChange>();
  const add = ({ owner, agentId, state }: TaskFacts, change: number): void => {
    const key = `${owner}\n${agentId ?? ""}\n${state}`;
    const counted = counts.get(key) ?? {
      owner: toText(owner),
      agentId: toText(agentId ?? ""),
      state: stateNumber(state),
      change: 0,
    };
    counted.change += change;
    counts.set(key, counted);
  };
  for (const { create, before, after } of changes) {
    if (create === undefined && before.listed) add(before, -1);
    if (after.listed) add(after, 1);
  }
  return [...counts.values()].filter(({ change }) => change !== 0);
}
