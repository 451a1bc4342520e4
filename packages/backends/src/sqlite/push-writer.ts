import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { NewPush, PushProgress, PushQuery, PushRecord, PushState, Seq } from "@convoke/engine";

/** In the order of `PushRow`. The configs come first, whatever the planner thinks of few tasks. */
const SELECT_PUSH = `
  SELECT pushes.task_id, id, owner, config, generation, cursor, pushes.state, failing_since, problem
  FROM pushes CROSS JOIN tasks USING (task_id)`;

export const GET_PUSH = `${SELECT_PUSH} WHERE pushes.task_id = ? AND id = ?`;

export const PUSHES_OF_TASK = `${SELECT_PUSH} WHERE pushes.task_id = ? ORDER BY id`;

/** Puts, advances and deletes push configs. Lives in the writer thread, inside a transaction. */
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
    const place = "task_id = ? AND id = ? AND generation = ?";
    // Apart from the one that changes the state: that rewrites the indexes, and most deliveries leave it.
    this.#advance = db.prepare(
      `UPDATE pushes SET cursor = ?, failing_since = ?, problem = ? WHERE ${place} AND state = ?`,
    );
    this.#progress = db.prepare(
      `UPDATE pushes SET cursor = ?, failing_since = ?, problem = ?, state = ? WHERE ${place}`,
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
    const standing = [cursor, failure?.since ?? null, failure?.problem ?? null] as const;
    const place = [taskId, id, generation] as const;
    return (
      hasChanged(this.#advance.run(...standing, ...place, state)) ||
      hasChanged(this.#progress.run(...standing, state, ...place))
    );
  }

  /** Whether something of the task is still to be delivered, or was given up. */
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
