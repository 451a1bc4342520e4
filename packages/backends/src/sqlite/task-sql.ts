import { TASK_STATES, type TaskState } from "@convoke/protocol";
import type {
  ChangedQuery,
  ContextQuery,
  Seq,
  StoredTask,
  TaskQuery,
  TaskRecord,
} from "@convoke/engine";

/** The columns of `TaskRow`. */
const RECORD = `task_id, owner, context, agent, agent_id, epoch,
    ifnull((SELECT max(last) FROM segments WHERE segments.task = n), 0),
    state, status_at, created_at, listed, wake_at, compacted`;

const SELECT_RECORD = `SELECT ${RECORD} FROM tasks`;

const STATES = TASK_STATES.map((state) => `'${state}'`).join(", ");

/** The columns of `StoredTaskRow`. Lists do not read snapshots, which can have many megabytes each. */
export const GET = `
  SELECT ${RECORD}, seq, json FROM tasks LEFT JOIN snapshots ON snapshots.task = n
  WHERE task_id = ?`;

export const RECORD_BY_ID = `${SELECT_RECORD} WHERE task_id = ?`;

/** The earlier tasks of a context, which is small enough to filter them by agent. */
export function contextSql({ agentId }: ContextQuery): string {
  const ofAgent = agentId === undefined ? "" : "AND agent_id = :agentId";
  return `${SELECT_RECORD} INDEXED BY tasks_in_context
    WHERE owner = :owner AND context = :contextId AND listed = 1 ${ofAgent}
      AND (created_at, task_id) < (:createdAt, :taskId)
    ORDER BY created_at DESC, task_id DESC LIMIT :limit`;
}

export const UNFINISHED = `${SELECT_RECORD}
  WHERE ended = 0 AND task_id > ? ORDER BY task_id LIMIT ?`;

export const WAKING = `${SELECT_RECORD}
  WHERE wake_at IS NOT NULL ORDER BY wake_at, task_id LIMIT ?`;

export const WAKING_AFTER = `${SELECT_RECORD}
  WHERE wake_at IS NOT NULL AND (wake_at, task_id) > (?, ?) ORDER BY wake_at, task_id LIMIT ?`;

/** Tasks of all owners, by the index of ids or that of unfinished tasks. */
export const NEWEST = `${SELECT_RECORD} WHERE task_id < ? ORDER BY task_id DESC LIMIT ?`;

export const NEWEST_UNFINISHED = `${SELECT_RECORD}
  WHERE ended = 0 AND task_id < ? ORDER BY task_id DESC LIMIT ?`;

/** Sorts after every task id. */
export const AFTER_ALL_IDS = "\u{10FFFF}";

/** Ended tasks that still have their full log, oldest first. */
export const COMPACTABLE = `${SELECT_RECORD}
  WHERE ended = 1 AND compacted = 0 AND status_at < ?
    AND NOT EXISTS (SELECT 1 FROM pushes WHERE pushes.task_id = tasks.task_id AND pushes.state <> 'done')
  ORDER BY status_at, n LIMIT ?`;

/**
 * Tasks whose status changed after a time. Uses the list index for each state, or
 * scans the tasks of one context.
 */
export function changedSql(query: ChangedQuery): string {
  const { contextId, agentId } = query;
  const chosen = contextId === undefined ? `state IN (${STATES})` : "context = :contextId";
  const ofAgent = agentId === undefined ? "" : "AND agent_id = :agentId";
  return `${SELECT_RECORD} WHERE n IN (SELECT n FROM tasks INDEXED BY ${indexFor(query)}
    WHERE ${chosen} ${ofAgent}
      AND owner = :owner AND listed = 1 AND status_at > :at AND created_at <= :at)`;
}

/** The index that has the tasks of a list, except for those of other agents in its context. */
function indexFor({ contextId, agentId }: Pick<TaskQuery, "contextId" | "agentId">): string {
  if (contextId !== undefined) return "tasks_in_context";
  return agentId === undefined ? "tasks_by_state" : "tasks_by_agent";
}

const NEWEST_FIRST = "ORDER BY status_at DESC, task_id DESC";

/**
 * One page of a list. Only ids are sorted and limited; the records of the page are
 * looked up last.
 *
 * There is no index by time alone, because every status change would have to update
 * it. A list of all states merges the newest tasks of each state; a list of one
 * context sorts the tasks of that context.
 */
export function pageSql(query: TaskQuery): string {
  const position =
    query.after === undefined ? "" : "AND (status_at, task_id) < (:statusAt, :taskId)";
  const filter = matching(query);
  const newest = (where: string) =>
    `SELECT n, status_at, task_id FROM ${where} ${position} ${NEWEST_FIRST} LIMIT :limit`;
  const page =
    query.contextId !== undefined || query.state !== undefined
      ? newest(filter)
      : TASK_STATES.map(
          (state) => `SELECT * FROM (${newest(`${filter} AND state = '${state}'`)})`,
        ).join(" UNION ALL ");
  return `${SELECT_RECORD} WHERE n IN (SELECT n FROM (${page}) ${NEWEST_FIRST} LIMIT :limit) ${NEWEST_FIRST}`;
}

/** The total of a list: maintained for whole lists, and counted in an index for filtered ones. */
export function countSql(query: TaskQuery): string {
  const { after: _after, until: _until, ...whole } = query;
  const { contextId, agentId, since, state } = whole;
  if (contextId !== undefined || since !== undefined) {
    // Naming the states lets SQLite use the index up to the time.
    const isOfAll = contextId === undefined && state === undefined;
    const ofAll = isOfAll ? ` AND state IN (${STATES})` : "";
    return `SELECT count(*) FROM ${matching(whole)}${ofAll}`;
  }
  const ofAgent = agentId === undefined ? "" : " AND agent_id = :agentId";
  const ofState = state === undefined ? "" : " AND state = :state";
  return `SELECT ifnull(sum(tasks), 0) FROM counts WHERE owner = :owner${ofAgent}${ofState}`;
}

/** The parameters of `matching`. */
export function filterValues({
  owner,
  agentId,
  contextId,
  state,
  since,
  until,
}: TaskQuery): Record<string, string | number> {
  return {
    owner,
    ...(agentId !== undefined && { agentId }),
    ...(contextId !== undefined && { contextId }),
    ...(state !== undefined && { state }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
  };
}

function matching(query: TaskQuery): string {
  const { agentId, contextId, state, since, until, after } = query;
  // The plus keeps SQLite from using the index for this bound: later pages are found by their position.
  const untilBound = after === undefined ? "status_at <= :until" : "+status_at <= :until";
  return [
    `tasks INDEXED BY ${indexFor(query)} WHERE owner = :owner AND listed = 1`,
    ...(agentId === undefined ? [] : ["agent_id = :agentId"]),
    ...(contextId === undefined ? [] : ["context = :contextId"]),
    ...(state === undefined ? [] : ["state = :state"]),
    ...(since === undefined ? [] : ["status_at >= :since"]),
    ...(until === undefined ? [] : [untilBound]),
  ].join(" AND ");
}

/** A record as a row: an array, which is cheaper to create than an object. */
type TaskRow = readonly [
  taskId: string,
  owner: string,
  contextId: string,
  agent: string,
  agentId: string | null,
  epoch: number,
  head: Seq,
  state: TaskState,
  statusAt: number,
  createdAt: number,
  listed: number,
  wakeAt: number | null,
  compacted: number,
];

/** A record with its snapshot. */
export type StoredTaskRow = readonly [
  ...record: TaskRow,
  snapshotSeq: Seq | null,
  snapshot: string | null,
];

export function toRecords(rows: readonly unknown[]): readonly TaskRecord[] {
  return (rows as readonly TaskRow[]).map(toRecord);
}

export function toStoredTask(row: StoredTaskRow): StoredTask {
  const [seq, json] = row.slice(-2) as [Seq | null, string | null];
  const record = toRecord(row.slice(0, -2) as unknown as TaskRow);
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
  ] = row;
  return {
    taskId,
    owner,
    contextId,
    agent,
    ...(agentId !== null && { agentId }),
    epoch,
    head,
    state,
    statusAt,
    createdAt,
    listed: listed === 1,
    compacted: compacted === 1,
    ...(wakeAt !== null && { wakeAt }),
  };
}
