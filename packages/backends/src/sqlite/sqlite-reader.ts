import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import type {
  ChangedQuery,
  ContextQuery,
  NewestQuery,
  Seq,
  StoredEvent,
  StoredTask,
  TaskIndex,
  TaskQuery,
  TaskRecord,
  TaskRecordPage,
  WakePosition,
} from "@convoke/engine";
import { decodeTimes } from "./commit-times.ts";
import { unpackLines } from "../storage/front-coding.ts";
import { isDamage, primaryCode } from "./storage-error.ts";
import {
  AFTER_ALL_IDS,
  GET,
  NEWEST,
  NEWEST_UNFINISHED,
  RECORD_BY_ID,
  type StoredTaskRow,
  UNFINISHED,
  WAKING,
  WAKING_AFTER,
  changedSql,
  contextSql,
  countSql,
  filterValues,
  pageSql,
  toRecords,
  toStoredTask,
} from "./task-sql.ts";

/**
 * A log with fewer rows than this is fetched at once, which takes two thirds of the time of fetching one
 * row after the other. Longer logs are not, so that rows beyond the page stay on the disk.
 */
const FEW_ROWS = 16;

/**
 * Makes the database up to date before it is read, in full or about one task; `undefined` if it is.
 */
export type Settle = (taskId?: string) => Promise<void> | undefined;

interface ReaderOptions {
  readonly file: string;
  readonly busyTimeoutMs: number;
  readonly damaged: Damaged;
  readonly settle: Settle;
}

/**
 * Reads on a separate connection of the main thread. A read ends when its call
 * returns, and no transaction stays open, so the writer can always move the
 * write-ahead log into the database.
 */
export class SqliteReader {
  readonly #db: DatabaseSync;
  readonly #segments: StatementSync;
  readonly #firstSegments: StatementSync;
  readonly statements: Statements;
  readonly tasks: SqliteTaskIndex;

  readonly #damaged: Damaged;
  readonly #settle: Settle;

  constructor({ file, busyTimeoutMs, damaged, settle }: ReaderOptions) {
    this.#db = new DatabaseSync(file, { readOnly: true, timeout: busyTimeoutMs });
    this.#damaged = damaged;
    this.#settle = settle;
    const segments = `SELECT first, body, at, times FROM segments
      WHERE task = (SELECT n FROM tasks WHERE task_id = ?) AND last > ? ORDER BY last`;
    this.#segments = this.#db.prepare(segments);
    this.#segments.setReturnArrays(true);
    this.#firstSegments = this.#db.prepare(`${segments} LIMIT ${FEW_ROWS}`);
    this.#firstSegments.setReturnArrays(true);
    this.statements = new Statements(this.#db, { damaged, settle });
    this.tasks = new SqliteTaskIndex(this.statements);
  }

  async read(
    taskId: string,
    after: Seq,
    limit: number,
    maxLength = Infinity,
  ): Promise<readonly StoredEvent[]> {
    const settling = this.#settle(taskId);
    if (settling !== undefined) await settling;
    if (!this.#db.isOpen) throw new Error("the backend is closed");
    return explained(() => this.#read(taskId, after, limit, maxLength), this.#damaged);
  }

  #read(taskId: string, after: Seq, limit: number, maxLength: number): readonly StoredEvent[] {
    const page: StoredEvent[] = [];
    if (limit <= 0) return page;
    let length = 0;
    const mayBeWhole = after === 0 && limit > FEW_ROWS && maxLength === Infinity;
    const few = mayBeWhole ? this.#firstSegments.all(taskId, after) : undefined;
    // One statement reads all rows of a page: in between, the log may be compacted.
    const isWhole = few !== undefined && few.length < FEW_ROWS;
    // Leaving the loop resets the statement, so rows beyond the page are not read.
    for (const row of isWhole ? few : this.#segments.iterate(taskId, after)) {
      const [first, body, at, times] = row as unknown as Segment;
      const lines = unpackLines(body);
      const each = decodeTimes(at, times);
      for (let index = Math.max(0, after + 1 - first); index < lines.length; index += 1) {
        const json = lines[index]!;
        const seq = first + index;
        page.push(at === null ? { seq, json } : { seq, json, at: each?.[index] ?? at });
        length += json.length;
        if (page.length === limit || length >= maxLength) return page;
      }
    }
    return page;
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }
}

type Segment = readonly [first: Seq, body: string, at: number | null, times: string | null];

/** The error for a database that cannot be read. */
type Damaged = (cause: unknown) => Error;

/** Reads, and explains the error of a damaged database. */
function explained<T>(read: () => T, damaged: Damaged): T {
  try {
    return read();
  } catch (error) {
    throw isDamage(primaryCode(error)) ? damaged(error) : error;
  }
}

/** Point reads and lists on the read-only connection. */
class SqliteTaskIndex implements TaskIndex {
  readonly #statements: Statements;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  async get(taskId: string): Promise<StoredTask | undefined> {
    await this.#statements.settle(taskId);
    const row = this.#statements.row(GET, taskId) as StoredTaskRow | undefined;
    return row && toStoredTask(row);
  }

  async record(taskId: string): Promise<TaskRecord | undefined> {
    await this.#statements.settle(taskId);
    return toRecords(this.#statements.rows(RECORD_BY_ID, taskId))[0];
  }

  async list(query: TaskQuery): Promise<TaskRecordPage> {
    await this.#statements.settle();
    const filter = filterValues(query);
    const { after, limit } = query;
    const { until: _, ...counted } = filter;
    const [total] = this.#statements.row(countSql(query), counted) as [number];
    const rows = this.#statements.rows(pageSql(query), {
      ...filter,
      // Only if used, because SQLite rejects values that the query does not name.
      ...(after && { statusAt: after.statusAt, taskId: after.taskId }),
      limit,
    });
    return { records: toRecords(rows), total };
  }

  async ofContext(query: ContextQuery): Promise<readonly TaskRecord[]> {
    await this.#statements.settle();
    const { before, ...values } = query;
    return toRecords(this.#statements.rows(contextSql(query), { ...values, ...before }));
  }

  async changedSince(query: ChangedQuery): Promise<readonly TaskRecord[]> {
    await this.#statements.settle();
    return toRecords(this.#statements.rows(changedSql(query), { ...query }));
  }

  async unfinished(after: string, limit: number): Promise<readonly TaskRecord[]> {
    await this.#statements.settle();
    return toRecords(this.#statements.rows(UNFINISHED, after, limit));
  }

  async newest({
    before = AFTER_ALL_IDS,
    isUnfinished = false,
    limit,
  }: NewestQuery): Promise<readonly TaskRecord[]> {
    await this.#statements.settle();
    const sql = isUnfinished ? NEWEST_UNFINISHED : NEWEST;
    return toRecords(this.#statements.rows(sql, before, limit));
  }

  async waking(limit: number, after?: WakePosition): Promise<readonly TaskRecord[]> {
    await this.#statements.settle();
    const rows =
      after === undefined
        ? this.#statements.rows(WAKING, limit)
        : this.#statements.rows(WAKING_AFTER, after.wakeAt, after.taskId, limit);
    return toRecords(rows);
  }
}

/** Values by position, or an object with values by name. */
type Values = readonly (SQLInputValue | Readonly<Record<string, SQLInputValue>>)[];

/** The prepared statements of a connection, which return rows as arrays. */
export class Statements {
  readonly #db: DatabaseSync;
  readonly #damaged: Damaged;
  readonly #settle: Settle;
  /** By SQL text. There are few, and preparing a statement costs more than running it. */
  readonly #prepared = new Map<string, StatementSync>();

  constructor(db: DatabaseSync, { damaged, settle }: Pick<ReaderOptions, "damaged" | "settle">) {
    this.#db = db;
    this.#damaged = damaged;
    this.#settle = settle;
  }

  /** Call it before a read. The database then has all commits that are resolved, or those of one task. */
  settle(taskId?: string): Promise<void> | undefined {
    return this.#settle(taskId);
  }

  /** The first row, if there is one. */
  row(sql: string, ...values: Values): unknown {
    return explained(() => this.#get(sql).get(...(values as SQLInputValue[])), this.#damaged);
  }

  rows(sql: string, ...values: Values): readonly unknown[] {
    return explained(() => this.#get(sql).all(...(values as SQLInputValue[])), this.#damaged);
  }

  #get(sql: string): StatementSync {
    if (!this.#db.isOpen) throw new Error("the backend is closed");
    const known = this.#prepared.get(sql);
    if (known !== undefined) return known;
    const prepared = this.#db.prepare(sql);
    prepared.setReturnArrays(true);
    this.#prepared.set(sql, prepared);
    return prepared;
  }
}
