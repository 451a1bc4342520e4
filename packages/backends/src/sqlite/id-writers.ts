import { hash } from "node:crypto";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { AcceptedMessage, NewTask, TakenMessage } from "@convoke/engine";

export const FORGOTTEN = `
  SELECT 1 FROM pruned_contexts WHERE owner = :owner AND context = :context
    AND NOT EXISTS (SELECT 1 FROM tasks WHERE owner = :owner AND context = :context AND listed = 1)`;

export const FORGET_CONTEXTS = `
  DELETE FROM pruned_contexts WHERE (owner, context) IN
    (SELECT owner, context FROM pruned_contexts WHERE at < ? ORDER BY at LIMIT ?)`;

/** The task that accepts a message. `n` is its row number. */
interface AcceptingTask {
  readonly n: number;
  readonly owner: string;
}

interface AcceptingStep {
  readonly taskId: string;
  readonly statusAt: number;
}

/** The message ids in use. Used in the writer thread, within a transaction. */
export class MessageWriter {
  readonly #find: StatementSync;
  readonly #insert: StatementSync;
  readonly #orphan: StatementSync;
  readonly #forget: StatementSync;

  constructor(db: DatabaseSync) {
    this.#find = db.prepare(
      "SELECT task_id AS taskId, digest FROM messages WHERE hash = ? AND owner = ? AND message_id = ?",
    );
    this.#insert = db.prepare(
      "INSERT INTO messages (hash, owner, message_id, task_id, digest, at, task) VALUES (?, ?, ?, ?, ?, ?, ?)",
    );
    this.#orphan = db.prepare("UPDATE messages SET task = NULL WHERE task = ?");
    this.#forget = db.prepare(`
      DELETE FROM messages WHERE rowid IN
        (SELECT rowid FROM messages WHERE task IS NULL AND at < ? ORDER BY at LIMIT ?)`);
  }

  find(owner: string, messageId: string): TakenMessage | undefined {
    return this.#find.get(hashId(owner, messageId), owner, messageId) as TakenMessage | undefined;
  }

  take(task: AcceptingTask, step: AcceptingStep, { messageId, digest }: AcceptedMessage): void {
    const { n, owner } = task;
    const { taskId, statusAt } = step;
    this.#insert.run(hashId(owner, messageId), owner, messageId, taskId, digest, statusAt, n);
  }

  /** Keeps the message ids of a removed task, which can be freed from now on. */
  orphan(task: number): void {
    this.#orphan.run(task);
  }

  forget(acceptedBefore: number, limit: number): number {
    return Number(this.#forget.run(acceptedBefore, limit).changes);
  }
}

/**
 * 48 bits, which JavaScript can represent exactly. A cryptographic hash, so that
 * clients cannot choose ids that collide.
 */
function hashId(owner: string, messageId: string): number {
  return Number.parseInt(hash("sha256", `${owner}\n${messageId}`, "hex").slice(0, 12), 16);
}

interface PrunedTask {
  readonly owner: string;
  readonly context: string;
  readonly endedAt: number;
}

/** Contexts from which listed tasks were removed. Used in the writer thread, within a transaction. */
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

  /** Records that a listed task was removed. Whether others are left is checked on demand. */
  add({ owner, context, endedAt }: PrunedTask): void {
    this.#put.run(owner, context, endedAt);
  }

  forget(endedBefore: number, limit: number): number {
    return Number(this.#forget.run(endedBefore, limit).changes);
  }
}
