import { closeSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { TASK_STATES, isTerminal } from "@convoke/protocol";
import { migrate, schemaVersion } from "../sqlite/schema.ts";
import { writeFolderMark } from "../sqlite/marked-folder.ts";
import { isDataFile, registryFile } from "./folder-files.ts";
import { SqliteSource } from "./sqlite-source.ts";
import type { FileRow, StoreRecord, StoreSource, StoreTarget, TableRow } from "./store.ts";

/** The database until it is complete. */
const INCOMING = "tasks.db.incoming";

const ENDED = TASK_STATES.filter(isTerminal)
  .map((state) => `'${state}'`)
  .join(", ");

/** How each kind of record is stored. Rows and files wait in tables of their own until the end. */
const INSERTS: Readonly<Partial<Record<StoreRecord["kind"], string>>> = {
  task: `INSERT INTO tasks (task_id, owner, context, agent, agent_id, epoch, state, status_at,
      created_at, listed, compacted, wake_at, ended)
    VALUES (:taskId, :owner, :context, :agent, :agentId, :epoch, :state, :statusAt,
      :createdAt, :listed, :compacted, :wakeAt, :state IN (${ENDED}))`,
  segment: `INSERT INTO segments (task, first, last, at, body)
    VALUES ((SELECT n FROM tasks WHERE task_id = :taskId), :first, :last, :at, :body)`,
  snapshot: `INSERT INTO snapshots (task, seq, json)
    VALUES ((SELECT n FROM tasks WHERE task_id = :taskId), :seq, :json)`,
  push: `INSERT INTO pushes (task_id, id, config, generation, cursor, state, failing_since, problem)
    VALUES (:taskId, :id, :config, :generation, :cursor, :state, :failingSince, :problem)`,
  message: `INSERT INTO message_keys (key, task_id, digest, at, task)
    VALUES (:key, :taskId, :digest, :at,
      CASE WHEN :isOrphan THEN NULL ELSE (SELECT n FROM tasks WHERE task_id = :taskId) END)`,
  context: `INSERT INTO expired_contexts (owner, context, agent_id, at)
    VALUES (:owner, :context, :agentId, :at)`,
  row: "INSERT INTO transfer_rows (json) VALUES (:json)",
  file: "INSERT INTO transfer_files (name, text) VALUES (:name, :text)",
};

/** Can be repeated. */
const BEGIN = `
  CREATE TABLE IF NOT EXISTS transfer (written INTEGER NOT NULL);
  INSERT INTO transfer (written) SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM transfer);
  CREATE TABLE IF NOT EXISTS transfer_rows (json TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS transfer_files (name TEXT NOT NULL, text TEXT NOT NULL);`;

const END = `
  UPDATE store SET ended = (SELECT count(*) FROM tasks WHERE ended = 1);
  INSERT INTO counts (owner, agent_id, state, tasks)
    SELECT owner, ifnull(agent_id, ''), state, count(*) FROM tasks WHERE listed = 1
    GROUP BY owner, ifnull(agent_id, ''), state;
  DROP TABLE transfer; DROP TABLE transfer_rows; DROP TABLE transfer_files;`;

/**
 * Fills a data folder. The database has another name until it is complete, so that there is never a
 * `tasks.db` with a part of the tasks.
 */
export class SqliteTarget implements StoreTarget {
  readonly #folder: string;
  readonly #file: string;
  readonly #db: DatabaseSync;
  readonly #inserts = new Map<string, StatementSync>();
  #written: number;

  /** The folder must be locked. */
  constructor(folder: string, { isNew }: { readonly isNew: boolean }) {
    this.#folder = folder;
    this.#file = join(folder, INCOMING);
    if (isNew) removeIncoming(folder);
    closeSync(openSync(this.#file, "a", 0o600));
    this.#db = new DatabaseSync(this.#file);
    // Must come before the first write to a new file.
    this.#db.exec("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL");
    // Before the other tables: without these, a database that has the others is complete.
    if (schemaVersion(this.#db) === 0) this.#inTransaction(() => this.#db.exec(BEGIN));
    migrate(this.#db);
    this.#written = this.#isComplete
      ? Infinity
      : Number(this.#db.prepare("SELECT written FROM transfer").get()?.["written"]);
  }

  get written(): number {
    return this.#written;
  }

  accepts(record: StoreRecord): boolean {
    if (record.kind === "row") return record.table === registryFile.table;
    if (record.kind === "file") return isDataFile(record.name);
    return INSERTS[record.kind] !== undefined;
  }

  async write(records: readonly StoreRecord[]): Promise<void> {
    this.#inTransaction(() => {
      for (const record of records) this.#insert(record);
      this.#db.prepare("UPDATE transfer SET written = ?").run(this.#written + records.length);
    });
    this.#written += records.length;
  }

  async reread(): Promise<StoreSource> {
    return new SqliteSource(this.#file, {
      rows: () => this.#waitingRows(),
      files: () => this.#waitingFiles(),
    });
  }

  /** Can be repeated if it is cut off. */
  async finish(): Promise<void> {
    if (!this.#isComplete) {
      registryFile.write(this.#folder, this.#waitingRows());
      for (const { name, text } of this.#waitingFiles()) {
        writeFileSync(join(this.#folder, name), text, { mode: 0o600 });
      }
      this.#inTransaction(() => this.#db.exec(END));
    }
    this.#db.exec("PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE)");
    this.#db.close();
    renameSync(this.#file, join(this.#folder, "tasks.db"));
    writeFolderMark(this.#folder, undefined);
  }

  async close(): Promise<void> {
    if (this.#db.isOpen) this.#db.close();
  }

  get #isComplete(): boolean {
    const sql = "SELECT 1 FROM sqlite_schema WHERE name = 'transfer'";
    return this.#db.prepare(sql).get() === undefined;
  }

  #waitingRows(): readonly TableRow[] {
    const rows = this.#db.prepare("SELECT json FROM transfer_rows ORDER BY rowid").all();
    return rows.map(({ json }) => ({
      kind: "row",
      table: registryFile.table,
      json: json as string,
    }));
  }

  #waitingFiles(): readonly FileRow[] {
    const rows = this.#db.prepare("SELECT name, text FROM transfer_files ORDER BY name").all();
    return rows.map(({ name, text }) => ({
      kind: "file",
      name: name as string,
      text: text as string,
    }));
  }

  #insert({ kind, ...values }: StoreRecord): void {
    let insert = this.#inserts.get(kind);
    if (insert === undefined) {
      insert = this.#db.prepare(INSERTS[kind]!);
      insert.setAllowUnknownNamedParameters(true);
      this.#inserts.set(kind, insert);
    }
    insert.run(toValues(values));
  }

  #inTransaction(work: () => void): void {
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      work();
      this.#db.exec("COMMIT");
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      throw error;
    }
  }
}

/** Removes a database that is not complete. */
export function removeIncoming(folder: string): void {
  for (const suffix of ["", "-wal", "-shm"]) {
    rmSync(join(folder, `${INCOMING}${suffix}`), { force: true });
  }
}

/** SQLite has no booleans. */
function toValues(record: object): Record<string, SQLInputValue> {
  const entries = Object.entries(record as Record<string, SQLInputValue | boolean>);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === "boolean" ? Number(value) : value]),
  );
}
