import type { PushQuery, PushRecord, PushState, Seq } from "@convoke/engine";

/** In the order of `PushRow`. The configs come first, whatever the planner thinks of few tasks. */
const SELECT_PUSH = `
  SELECT pushes.task_id, id, owner, config, generation, cursor, pushes.state, failing_since, problem
  FROM pushes CROSS JOIN tasks USING (task_id)`;

export const GET_PUSH = `${SELECT_PUSH} WHERE pushes.task_id = ? AND id = ?`;

export const PUSHES_OF_TASK = `${SELECT_PUSH} WHERE pushes.task_id = ? ORDER BY id`;

/** The state is part of the text, so that SQLite finds the index of that state alone. */
export function pushesSql({ state, owner, after }: PushQuery): string {
  return [
    `${SELECT_PUSH} WHERE pushes.state = '${state}'`,
    ...(owner === undefined ? [] : ["owner = :owner"]),
    ...(after === undefined ? [] : ["(pushes.task_id, id) > (:taskId, :id)"]),
  ]
    .join(" AND ")
    .concat(" ORDER BY pushes.task_id, id LIMIT :limit");
}

/** The values of the names in `pushesSql`. */
export function pushValues({ owner, after, limit }: PushQuery): Record<string, string | number> {
  return {
    limit,
    ...(owner !== undefined && { owner }),
    ...(after !== undefined && { taskId: after.taskId, id: after.id }),
  };
}

/** A config as SQLite gives it. */
export type PushRow = readonly [
  taskId: string,
  id: string,
  owner: string,
  config: string,
  generation: number,
  cursor: Seq,
  state: PushState,
  failingSince: number | null,
  problem: string | null,
];

export function toPush(row: PushRow): PushRecord {
  const [taskId, id, owner, config, generation, cursor, state, failingSince, problem] = row;
  return {
    taskId,
    id,
    owner,
    config,
    generation,
    cursor,
    state,
    ...(failingSince !== null && { failingSince }),
    ...(problem !== null && { problem }),
  };
}
