import { TASK_STATES } from "@convoke/protocol";
import type { ChangedQuery, TaskQuery } from "@convoke/engine";

/** In the order of `TaskRow` (`task-row.ts`). */
const RECORD = `task_id, owner, context, agent, epoch,
    ifnull((SELECT max(last) FROM segments WHERE segments.task = n), 0),
    state, status_at, created_at, listed, wake_at, compacted`;

const SELECT_RECORD = `SELECT ${RECORD} FROM tasks`;

const STATES = TASK_STATES.map((state) => `'${state}'`).join(", ");

const NEWEST_FIRST = "ORDER BY status_at DESC, task_id DESC";

/** In the order of `StoredTaskRow`. No list reads snapshots, which may be many megabytes each. */
export const GET = `
  SELECT ${RECORD}, seq, json FROM tasks LEFT JOIN snapshots ON snapshots.task = n
  WHERE task_id = ?`;

export const OF_CONTEXT = `${SELECT_RECORD} INDEXED BY tasks_in_context
  WHERE owner = ? AND context = ? AND listed = 1 AND (created_at, task_id) < (?, ?)
  ORDER BY created_at DESC, task_id DESC LIMIT ?`;

export const UNFINISHED = `${SELECT_RECORD}
  WHERE ended = 0 AND task_id > ? ORDER BY task_id LIMIT ?`;

export const WAKING = `${SELECT_RECORD}
  WHERE wake_at IS NOT NULL ORDER BY wake_at, task_id LIMIT ?`;

/** What still has its whole log, oldest end first. */
export const COMPACTABLE = `${SELECT_RECORD}
  WHERE ended = 1 AND compacted = 0 AND status_at < ?
    AND NOT EXISTS (SELECT 1 FROM pushes WHERE pushes.task_id = tasks.task_id AND pushes.state <> 'done')
  ORDER BY status_at, n LIMIT ?`;

/**
 * What got another status after a time. Each state is looked up by that time in
 * the index of lists; of one context all tasks are looked at.
 */
export function changedSql({ contextId }: ChangedQuery): string {
  const candidates =
    contextId === undefined
      ? `tasks INDEXED BY tasks_by_state WHERE state IN (${STATES})`
      : "tasks INDEXED BY tasks_in_context WHERE context = :contextId";
  return `${SELECT_RECORD} WHERE n IN (SELECT n FROM ${candidates}
    AND owner = :owner AND listed = 1 AND status_at > :at AND created_at <= :at)`;
}

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

/** How many tasks a list has in all: looked up, or counted in an index where the list is of a part. */
export function countSql(query: TaskQuery): string {
  const { after: _after, until: _until, ...whole } = query;
  const { contextId, since, state } = whole;
  if (contextId !== undefined || since !== undefined) {
    // By its states, the index leads to those since the time, and to no others.
    const isOfAll = contextId === undefined && state === undefined;
    const ofAll = isOfAll ? ` AND state IN (${STATES})` : "";
    return `SELECT count(*) FROM ${matching(whole)}${ofAll}`;
  }
  const ofState = state === undefined ? "" : " AND state = :state";
  return `SELECT ifnull(sum(tasks), 0) FROM counts WHERE owner = :owner${ofState}`;
}

/** The values of the names in `matching`. */
export function filterValues({
  owner,
  contextId,
  state,
  since,
  until,
}: TaskQuery): Record<string, string | number> {
  return {
    owner,
    ...(contextId !== undefined && { contextId }),
    ...(state !== undefined && { state }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
  };
}

function matching({ contextId, state, since, until, after }: TaskQuery): string {
  // The plus keeps this bound from the index: a later page is found by where the one before ended.
  const untilBound = after === undefined ? "status_at <= :until" : "+status_at <= :until";
  return [
    `tasks INDEXED BY ${contextId === undefined ? "tasks_by_state" : "tasks_in_context"} WHERE owner = :owner AND listed = 1`,
    ...(contextId === undefined ? [] : ["context = :contextId"]),
    ...(state === undefined ? [] : ["state = :state"]),
    ...(since === undefined ? [] : ["status_at >= :since"]),
    ...(until === undefined ? [] : [untilBound]),
  ].join(" AND ");
}
