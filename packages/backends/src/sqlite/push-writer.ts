import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { NewPush, PushProgress, PushRecord } from "@convoke/engine";

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
