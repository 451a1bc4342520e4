import { TASK_STATES, type TaskState } from "@convoke/protocol";
import type { Seq, TaskQuery } from "@convoke/server/backend";

/** In the order of `TaskRow`. */
const SELECT_RECORD = `
  SELECT task_id, owner, context, agent, epoch,
    ifnull((SELECT max(last) FROM segments WHERE segments.task = n), 0),
    state, status_at, created_at, listed, seq, json, wake_at
  FROM tasks LEFT JOIN snapshots ON snapshots.task = n`;

/** A record as SQLite gives it: an array, which is cheaper to make than an object. */
export type TaskRow = readonly [
  taskId: string,
  owner: string,
  contextId: string,
  agent: string,
  epoch: number,
  head: Seq,
  state: TaskState,
  statusAt: number,
  createdAt: number,
  listed: number,
  snapshotSeq: Seq | null,
  snapshot: string | null,
  wakeAt: number | null,
];

const NEWEST_FIRST = "ORDER BY status_at DESC, task_id DESC";

export const GET = `${SELECT_RECORD} WHERE task_id = ?`;

export const OF_CONTEXT = `${SELECT_RECORD}
  WHERE owner = ? AND context = ? AND listed = 1 AND task_id < ? ORDER BY task_id DESC LIMIT ?`;

export const UNFINISHED = `${SELECT_RECORD}
  WHERE ended = 0 AND task_id > ? ORDER BY task_id LIMIT ?`;

export const WAKING = `${SELECT_RECORD}
  WHERE wake_at IS NOT NULL ORDER BY wake_at, task_id LIMIT ?`;

/**
 * One page of a list. Only ids are sorted and cut; the records of that page are
 * looked up last.
 *
 * There is no index by time alone: each change of a status would pay for it.
 * A list of all states merges the newest of each state, a list of one context
 * sorts that context's tasks.
 */
export function pageSql(query: TaskQuery): string {
  const position =
    query.after === undefined ? "" : "AND (status_at, task_id) < (:statusAt, :taskId)";
  const newest = (where: string) =>
    `SELECT n, status_at, task_id FROM ${where} ${position} ${NEWEST_FIRST} LIMIT :limit`;
  const page =
    query.contextId !== undefined || query.state !== undefined
      ? newest(matching(query))
      : TASK_STATES.map(
          (state) => `SELECT * FROM (${newest(`${matching(query)} AND state = '${state}'`)})`,
        ).join(" UNION ALL ");
  return `${SELECT_RECORD} WHERE n IN (SELECT n FROM (${page}) ${NEWEST_FIRST} LIMIT :limit) ${NEWEST_FIRST}`;
}

/** How many tasks a list has in all, counted in an index. */
export function countSql(query: TaskQuery): string {
  return `SELECT count(*) FROM ${matching(query)}`;
}

/** The values of the names in `matching`. */
export function filterValues({
  owner,
  contextId,
  state,
  since,
}: TaskQuery): Record<string, string | number> {
  return {
    owner,
    ...(contextId !== undefined && { contextId }),
    ...(state !== undefined && { state }),
    ...(since !== undefined && { since }),
  };
}

function matching({ contextId, state, since }: TaskQuery): string {
  return [
    `tasks INDEXED BY ${contextId === undefined ? "tasks_by_state" : "tasks_of_context"} WHERE owner = :owner AND listed = 1`,
    ...(contextId === undefined ? [] : ["context = :contextId"]),
    ...(state === undefined ? [] : ["state = :state"]),
    ...(since === undefined ? [] : ["status_at >= :since"]),
  ].join(" AND ");
}
