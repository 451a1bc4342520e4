import type { DatabaseSync, StatementSync } from "node:sqlite";

/** The prepared statements of a connection. Rows come as arrays. */
export class Statements {
  readonly #db: DatabaseSync;
  /** By their text: there are few, and preparing one costs more than running it. */
  readonly #prepared = new Map<string, StatementSync>();

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  get(sql: string): StatementSync {
    if (!this.#db.isOpen) throw new Error("the backend is closed");
    const known = this.#prepared.get(sql);
    if (known !== undefined) return known;
    const prepared = this.#db.prepare(sql);
    prepared.setReturnArrays(true);
    this.#prepared.set(sql, prepared);
    return prepared;
  }
}
