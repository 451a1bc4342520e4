import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { NewPush, PushProgress, PushQuery, PushRecord, PushState, Seq } from "@convoke/engine";

/** The columns of `PushRow`. CROSS JOIN makes SQLite start with the configs, also if there are few tasks. */
const SELECT_PUSH = `
  SELECT pushes.task_id, id, owner, config, generation, cursor, pushes.state, failing_since, problem
  FROM pushes CROSS JOIN tasks USING (task_id)`;

export const GET_PUSH = `${SELECT_PUSH} WHERE pushes.task_id = ? AND id = ?`;

export const PUSHES_OF_TASK = `${SELECT_PUSH} WHERE pushes.task_id = ? ORDER BY id`;

/** Writes push configs, within a transaction. */
export class PushWriter {
  readonly #findOwner: StatementSync;
  readonly #put: StatementSync;
  readonly #advance: StatementSync;
  readonly #progress: StatementSync;
  readonly #delete: StatementSync;
  readonly #deleteAll: StatementSync;
  readonly #findUndelivered: StatementSync;

  constructor(db: DatabaseSync) {
    this.#findOwner = db.prepare("SELECT owner FROM tasks WHERE task_id = ?");
    this.#put = db.prepare(`
      INSERT INTO pushes (task_id, id, config, generation, cursor, state) VALUES (?, ?, ?, 1, ?, 'active')
      ON CONFLICT (task_id, id) DO UPDATE SET generation = generation + 1, config = excluded.config,
        cursor = excluded.cursor, state = 'active', failing_since = NULL, problem = NULL
      RETURNING generation`);
    const match = "task_id = ? AND id = ? AND generation = ?";
    // A separate statement, because one that sets the state rewrites the indexes, and most deliveries do not change it.
    this.#advance = db.prepare(
      `UPDATE pushes SET cursor = ?, failing_since = ?, problem = ? WHERE ${match} AND state = ?`,
    );
    this.#progress = db.prepare(
      `UPDATE pushes SET cursor = ?, failing_since = ?, problem = ?, state = ? WHERE ${match}`,
    );
    this.#delete = db.prepare("DELETE FROM pushes WHERE task_id = ? AND id = ?");
    this.#deleteAll = db.prepare("DELETE FROM pushes WHERE task_id = ?");
    this.#findUndelivered = db.prepare(
      "SELECT 1 FROM pushes WHERE task_id = ? AND state <> 'done' LIMIT 1",
    );
  }

  put(taskId: string, { id, config, cursor }: NewPush): PushRecord | undefined {
    const task = this.#findOwner.get(taskId) as { readonly owner: string } | undefined;
    if (task === undefined) return undefined;
    const { generation } = this.#put.get(taskId, id, config, cursor) as {
      readonly generation: number;
    };
    return { taskId, id, owner: task.owner, config, generation, cursor, state: "active" };
  }

  progress({ taskId, id, generation, cursor, state, failure }: PushProgress): boolean {
    const values = [cursor, failure?.since ?? null, failure?.problem ?? null] as const;
    const key = [taskId, id, generation] as const;
    return (
      hasChanged(this.#advance.run(...values, ...key, state)) ||
      hasChanged(this.#progress.run(...values, state, ...key))
    );
  }

  /** Whether the task has an undelivered push, active or dead. */
  hasUndelivered(taskId: string): boolean {
    return this.#findUndelivered.get(taskId) !== undefined;
  }

  delete(taskId: string, id: string): boolean {
    return hasChanged(this.#delete.run(taskId, id));
  }

  deleteAll(taskId: string): void {
    this.#deleteAll.run(taskId);
  }
}

function hasChanged({ changes }: { readonly changes: number | bigint }): boolean {
  return Number(changes) > 0;
}

/** The state is part of the SQL, so that SQLite can use the partial index of that state. */
export function pushesSql({ state, owner, after }: PushQuery): string {
  return [
    `${SELECT_PUSH} WHERE pushes.state = '${state}'`,
    ...(owner === undefined ? [] : ["owner = :owner"]),
    ...(after === undefined ? [] : ["(pushes.task_id, id) > (:taskId, :id)"]),
  ]
    .join(" AND ")
    .concat(" ORDER BY pushes.task_id, id LIMIT :limit");
}

/** The parameters of `pushesSql`. */
export function pushValues({ owner, after, limit }: PushQuery): Record<string, string | number> {
  return {
    limit,
    ...(owner !== undefined && { owner }),
    ...(after !== undefined && { taskId: after.taskId, id: after.id }),
  };
}

/** A config as a row. */
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
