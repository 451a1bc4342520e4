import { hash } from "node:crypto";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { AcceptedMessage, TakenMessage } from "@convoke/engine";

/** The task that accepts a message, by the number its rows have. */
interface AcceptingTask {
  readonly n: number;
  readonly owner: string;
}

interface AcceptingStep {
  readonly taskId: string;
  readonly statusAt: number;
}

/** Which message ids are taken. Lives in the writer thread. */
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
    return this.#find.get(hashOf(owner, messageId), owner, messageId) as TakenMessage | undefined;
  }

  take(task: AcceptingTask, step: AcceptingStep, { messageId, digest }: AcceptedMessage): void {
    const { n, owner } = task;
    const { taskId, statusAt } = step;
    this.#insert.run(hashOf(owner, messageId), owner, messageId, taskId, digest, statusAt, n);
  }

  /** The ids stay taken, and may be forgotten from now on. */
  outlive(task: number): void {
    this.#orphan.run(task);
  }

  forget(acceptedBefore: number, limit: number): number {
    return Number(this.#forget.run(acceptedBefore, limit).changes);
  }
}

/**
 * 48 bits, so that SQLite and JavaScript agree on the number. Of a cryptographic
 * hash, so that nobody can choose ids that all fall in one place.
 */
function hashOf(owner: string, messageId: string): number {
  return Number.parseInt(hash("sha256", `${owner}\n${messageId}`, "hex").slice(0, 12), 16);
}
