import { TASK_STATES, type TaskState } from "@convoke/protocol";
import type {
  ChangedQuery,
  ContextQuery,
  NewestQuery,
  Seq,
  StoredTask,
  TaskQuery,
  TaskRecord,
  WakePosition,
} from "@convoke/engine";
import type { Statement } from "./connection.ts";
import { ALL_STATES, stateAt, stateNumber } from "./schema.ts";
import { fromText, toText } from "./text.ts";

/** The columns of `TaskRow`, of a table or subquery `t`. */
export const RECORD = `t.task_id, t.owner, t.context, t.agent, t.agent_id, t.epoch,
    coalesce((SELECT p.last FROM @.segment p WHERE p.task = t.n ORDER BY p.first DESC LIMIT 1), 0),
    t.state, t.status_at, t.created_at, t.listed, t.wake_at, t.compacted, t.host`;

const SELECT_RECORD = `SELECT ${RECORD} FROM @.task t`;

export const GET = `
  SELECT ${RECORD}, s.seq, s.json FROM @.task t LEFT JOIN @.snapshot s ON s.task = t.n
  WHERE t.task_id = $1`;

export const RECORD_BY_ID = `${SELECT_RECORD} WHERE t.task_id = $1`;

/** Ended tasks that still have their full log, oldest first. */
export const COMPACTABLE = `${SELECT_RECORD}
  WHERE t.ended AND NOT t.compacted AND t.status_at < $1
    AND (SELECT p.id FROM @.push p WHERE p.task_id = t.task_id AND p.state <> 1 LIMIT 1) IS NULL
  ORDER BY t.status_at, t.n LIMIT $2`;

/** Sorts after every task id. */
const AFTER_ALL_IDS = "\u{10FFFF}";

/** The earlier tasks of a context, which is small enough to filter them by agent. */
export function ofContextSql(query: ContextQuery): Statement {
  const { owner, contextId, agentId, before, limit } = query;
  const ofAgent = agentId === undefined ? "" : "AND t.agent_id = $6";
  return {
    text: `${SELECT_RECORD}
      WHERE t.owner = $1 AND t.context = $2 AND t.listed AND (t.created_at, t.task_id) < ($3, $4) ${ofAgent}
      ORDER BY t.created_at DESC, t.task_id DESC LIMIT $5`,
    values: [
      toText(owner),
      toText(contextId),
      before.createdAt,
      toText(before.taskId),
      limit,
      ...(agentId === undefined ? [] : [toText(agentId)]),
    ],
  };
}

export function unfinishedSql(after: string, limit: number): Statement {
  return {
    text: `${SELECT_RECORD} WHERE NOT t.ended AND t.task_id > $1 ORDER BY t.task_id LIMIT $2`,
    values: [toText(after), limit],
  };
}

export function newestSql({ before = AFTER_ALL_IDS, isUnfinished, limit }: NewestQuery): Statement {
  const filter = isUnfinished === true ? "NOT t.ended AND " : "";
  return {
    text: `${SELECT_RECORD} WHERE ${filter}t.task_id < $1 ORDER BY t.task_id DESC LIMIT $2`,
    values: [toText(before), limit],
  };
}

export function wakingSql(limit: number, after?: WakePosition): Statement {
  const position = after === undefined ? "" : "AND (t.wake_at, t.task_id) > ($2, $3)";
  return {
    text: `${SELECT_RECORD}
      WHERE t.wake_at IS NOT NULL ${position} ORDER BY t.wake_at, t.task_id LIMIT $1`,
    values: [limit, ...(after === undefined ? [] : [after.wakeAt, toText(after.taskId)])],
  };
}

/** Tasks whose status changed after a time: along the list index of each state, or among one context. */
export function changedSql({ owner, contextId, agentId, at }: ChangedQuery): Statement {
  const values: unknown[] = [toText(owner), at];
  const value = (of: string): string => `$${values.push(toText(of))}`;
  const ofAgent = agentId === undefined ? "" : ` AND t.agent_id = ${value(agentId)}`;
  const changed = `t.owner = $1 AND t.listed AND t.created_at <= $2${ofAgent}`;
  const text =
    contextId === undefined
      ? `SELECT ${RECORD} FROM ${EACH_STATE} CROSS JOIN LATERAL (SELECT * FROM @.task t
          WHERE ${changed} AND t.status_at > $2 AND t.state = each.state OFFSET 0) t`
      : `${SELECT_RECORD} WHERE ${changed} AND t.status_at + 0 > $2 AND t.context = ${value(contextId)}`;
  return { text, values };
}

/** A lookup for each state uses the index of states up to the time. */
const EACH_STATE = `unnest(ARRAY[${ALL_STATES}]::smallint[]) AS each(state)`;

const NEWEST_FIRST = "ORDER BY status_at DESC, task_id DESC";

/**
 * One page of a list. There is no index by time alone, because every status change would have to
 * update it. A list of all states merges the newest tasks of each state; a list of one context sorts
 * the tasks of that context.
 */
export function pageSql(query: TaskQuery): Statement {
  const values: unknown[] = [];
  const value = (of: unknown): string => `$${values.push(of)}`;
  const limit = value(query.limit);
  const { after } = query;
  const filter = matching(query, value);
  const position =
    after === undefined
      ? ""
      : `AND (${statusAt(query)}, t.task_id) < (${value(after.statusAt)}, ${value(toText(after.taskId))})`;
  const newest = (also: string): string =>
    `(SELECT t.n, t.status_at, t.task_id FROM @.task t
      WHERE ${filter} ${position} ${also} ${NEWEST_FIRST} LIMIT ${limit})`;
  const isMerged = query.contextId === undefined && query.state === undefined;
  const pages = isMerged
    ? TASK_STATES.map((state) => newest(`AND t.state = ${stateNumber(state)}`))
    : [newest("")];
  return {
    text: `
      WITH page AS MATERIALIZED (
        SELECT n FROM (${pages.join(" UNION ALL ")}) merged ${NEWEST_FIRST} LIMIT ${limit})
      ${SELECT_RECORD} JOIN page ON page.n = t.n ORDER BY t.status_at DESC, t.task_id DESC`,
    values,
  };
}

/** The total of a list: maintained for whole lists, and counted in an index for filtered ones. */
export function countSql(query: TaskQuery): Statement {
  const values: unknown[] = [];
  const value = (of: unknown): string => `$${values.push(of)}`;
  const { owner, contextId, agentId, state, since } = query;
  if (contextId === undefined && since === undefined) {
    const filters = [
      `owner = ${value(toText(owner))}`,
      ...(agentId === undefined ? [] : [`agent_id = ${value(toText(agentId))}`]),
      ...(state === undefined ? [] : [`state = ${stateNumber(state)}`]),
    ].join(" AND ");
    const text = `SELECT coalesce(sum(tasks), 0)::bigint FROM @.counts WHERE ${filters}`;
    return { text, values };
  }
  const { until: _, ...whole } = query;
  const count = `SELECT count(*) AS tasks FROM @.task t WHERE ${matching(whole, value)}`;
  if (contextId !== undefined || state !== undefined) return { text: count, values };
  const text = `SELECT sum(tasks)::bigint FROM ${EACH_STATE}
    CROSS JOIN LATERAL (${count} AND t.state = each.state) t`;
  return { text, values };
}

function matching(query: TaskQuery, value: (of: unknown) => string): string {
  const { owner, contextId, agentId, state, since, until } = query;
  return [
    `t.listed AND t.owner = ${value(toText(owner))}`,
    ...(agentId === undefined ? [] : [`t.agent_id = ${value(toText(agentId))}`]),
    ...(contextId === undefined ? [] : [`t.context = ${value(toText(contextId))}`]),
    ...(state === undefined ? [] : [`t.state = ${stateNumber(state)}`]),
    ...(since === undefined ? [] : [`${statusAt(query)} >= ${value(since)}`]),
    ...(until === undefined ? [] : [`${statusAt(query)} <= ${value(until)}`]),
  ].join(" AND ");
}

/** The sum keeps Postgres from walking the tasks of all contexts by their time. */
function statusAt({ contextId }: TaskQuery): string {
  return contextId === undefined ? "t.status_at" : "t.status_at + 0";
}

type TaskRow = readonly [
  taskId: string,
  owner: string,
  contextId: string,
  agent: string,
  agentId: string | null,
  epoch: number,
  head: Seq,
  state: number,
  statusAt: number,
  createdAt: number,
  listed: boolean,
  wakeAt: number | null,
  compacted: boolean,
  host: string,
];

type StoredTaskRow = readonly [
  ...record: TaskRow,
  snapshotSeq: Seq | null,
  snapshot: string | null,
];

export function toRecords(rows: readonly (readonly unknown[])[]): readonly TaskRecord[] {
  return (rows as readonly TaskRow[]).map(toRecord);
}

export function toStoredTask(row: readonly unknown[]): StoredTask {
  const [seq, json] = (row as StoredTaskRow).slice(-2) as [Seq | null, string | null];
  const record = toRecord(row as unknown as TaskRow);
  return { ...record, snapshot: seq === null || json === null ? undefined : { seq, json } };
}

function toRecord(row: TaskRow): TaskRecord {
  const [
    taskId,
    owner,
    contextId,
    agent,
    agentId,
    epoch,
    head,
    state,
    statusAt,
    createdAt,
    listed,
    wakeAt,
    compacted,
    host,
  ] = row;
  return {
    taskId: fromText(taskId),
    owner: fromText(owner),
    contextId: fromText(contextId),
    agent: fromText(agent),
    ...(agentId !== null && { agentId: fromText(agentId) }),
    epoch,
    head,
    state: stateAt(state) satisfies TaskState,
    statusAt,
    createdAt,
    listed,
    compacted,
    ...(wakeAt !== null && { wakeAt }),
    ...(host !== "" && { host }),
  };
}
