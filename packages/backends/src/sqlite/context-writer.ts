import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { NewTask } from "@convoke/engine";

interface PrunedTask {
  readonly owner: string;
  readonly context: string;
  readonly endedAt: number;
}

/** Which contexts have lost tasks, and which of them all. Lives in the writer thread, inside a transaction. */
export class ContextWriter {
  readonly #find: StatementSync;
  readonly #put: StatementSync;
  readonly #forget: StatementSync;

  constructor(db: DatabaseSync) {
    this.#find = db.prepare(FORGOTTEN);
    this.#put = db.prepare(`
      INSERT INTO pruned_contexts (owner, context, at) VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET at = max(at, excluded.at)`);
    this.#forget = db.prepare(FORGET_CONTEXTS);
  }

  isForgotten({ owner, contextId }: NewTask): boolean {
    return this.#find.get({ owner, context: contextId }) !== undefined;
  }

  /** Notes that a listed task is gone. Whether others are left is looked up when somebody asks. */
  outlive({ owner, context, endedAt }: PrunedTask): void {
    this.#put.run(owner, context, endedAt);
  }

  forget(endedBefore: number, limit: number): number {
    return Number(this.#forget.run(endedBefore, limit).changes);
  }
}

export const FORGOTTEN = `
  SELECT 1 FROM pruned_contexts WHERE owner = :owner AND context = :context
    AND NOT EXISTS (SELECT 1 FROM tasks WHERE owner = :owner AND context = :context AND listed = 1)`;

export const FORGET_CONTEXTS = `
  DELETE FROM pruned_contexts WHERE (owner, context) IN
    (SELECT owner, context FROM pruned_contexts WHERE at < ? ORDER BY at LIMIT ?)`;
