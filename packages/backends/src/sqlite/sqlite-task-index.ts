import type { DatabaseSync, StatementSync } from "node:sqlite";
import type {
  ContextQuery,
  TaskIndex,
  TaskQuery,
  TaskRecord,
  TaskRecordPage,
} from "@convoke/server/backend";
import {
  GET,
  OF_CONTEXT,
  type TaskRow,
  UNFINISHED,
  WAKING,
  countSql,
  filterValues,
  pageSql,
} from "./task-sql.ts";

/** Point reads and lists on the read-only connection. */
export class SqliteTaskIndex implements TaskIndex {
  readonly #db: DatabaseSync;
  /** By their text: there are few, and preparing one costs more than running it. */
  readonly #statements = new Map<string, StatementSync>();

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  async get(taskId: string): Promise<TaskRecord | undefined> {
    const row = this.#statement(GET).get(taskId) as unknown as TaskRow | undefined;
    return row && toRecord(row);
  }

  async list(query: TaskQuery): Promise<TaskRecordPage> {
    const filter = filterValues(query);
    const [total] = this.#statement(countSql(query)).get(filter) as unknown as [number];
    const { after, limit } = query;
    const rows = this.#statement(pageSql(query)).all({
      ...filter,
      // Named, because SQLite refuses values that the query does not mention.
      ...(after && { statusAt: after.statusAt, taskId: after.taskId }),
      limit,
    });
    return { records: toRecords(rows), total };
  }

  async ofContext({
    owner,
    contextId,
    before,
    limit,
  }: ContextQuery): Promise<readonly TaskRecord[]> {
    return toRecords(this.#statement(OF_CONTEXT).all(owner, contextId, before, limit));
  }

  async unfinished(after: string, limit: number): Promise<readonly TaskRecord[]> {
    return toRecords(this.#statement(UNFINISHED).all(after, limit));
  }

  async waking(limit: number): Promise<readonly TaskRecord[]> {
    return toRecords(this.#statement(WAKING).all(limit));
  }

  #statement(sql: string): StatementSync {
    if (!this.#db.isOpen) throw new Error("the backend is closed");
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const prepared = this.#db.prepare(sql);
    prepared.setReturnArrays(true);
    this.#statements.set(sql, prepared);
    return prepared;
  }
}

function toRecords(rows: readonly unknown[]): readonly TaskRecord[] {
  return (rows as readonly TaskRow[]).map(toRecord);
}

function toRecord(row: TaskRow): TaskRecord {
  const [
    taskId,
    owner,
    contextId,
    agent,
    epoch,
    head,
    state,
    statusAt,
    createdAt,
    listed,
    seq,
    json,
    wakeAt,
  ] = row;
  return {
    taskId,
    owner,
    contextId,
    agent,
    epoch,
    head,
    state,
    statusAt,
    createdAt,
    listed: listed === 1,
    ...(seq !== null && json !== null && { snapshot: { seq, json } }),
    ...(wakeAt !== null && { wakeAt }),
  };
}
