import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { Seq, Stored } from "@convoke/engine";
import { unpackLines } from "./front-coding.ts";
import { SqliteTaskIndex } from "./sqlite-task-index.ts";
import { Statements } from "./statements.ts";

/**
 * Reads, on a connection of the main thread's own. A read is over when its call
 * returns: no transaction stays open, so the writer can always move the
 * write-ahead log into the database.
 */
export class ReadSide {
  readonly #db: DatabaseSync;
  readonly #segments: StatementSync;
  readonly statements: Statements;
  readonly tasks: SqliteTaskIndex;

  constructor(file: string, busyTimeoutMs: number) {
    this.#db = new DatabaseSync(file, { readOnly: true, timeout: busyTimeoutMs });
    this.#segments = this.#db.prepare(`
      SELECT first, body FROM segments
      WHERE task = (SELECT n FROM tasks WHERE task_id = ?) AND last > ? ORDER BY last`);
    this.#segments.setReturnArrays(true);
    this.statements = new Statements(this.#db);
    this.tasks = new SqliteTaskIndex(this.statements);
  }

  async read(taskId: string, after: Seq, limit: number): Promise<readonly Stored[]> {
    if (!this.#db.isOpen) throw new Error("the backend is closed");
    const page: Stored[] = [];
    if (limit <= 0) return page;
    // Leaving the loop resets the statement, so the rows beyond the page are never read.
    for (const row of this.#segments.iterate(taskId, after)) {
      const [first, body] = row as unknown as Segment;
      const lines = unpackLines(body);
      for (let index = Math.max(0, after + 1 - first); index < lines.length; index += 1) {
        page.push({ seq: first + index, json: lines[index]! });
        if (page.length === limit) return page;
      }
    }
    return page;
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }
}

type Segment = readonly [first: Seq, body: string];
