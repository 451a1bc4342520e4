import type {
  ChangedQuery,
  ContextQuery,
  StoredTask,
  TaskIndex,
  TaskQuery,
  TaskRecord,
  TaskRecordPage,
} from "@convoke/engine";
import type { Statements } from "./statements.ts";
import {
  GET,
  OF_CONTEXT,
  UNFINISHED,
  WAKING,
  changedSql,
  countSql,
  filterValues,
  pageSql,
} from "./task-sql.ts";
import { type StoredTaskRow, toRecords, toStoredTask } from "./task-row.ts";

/** Point reads and lists on the read-only connection. */
export class SqliteTaskIndex implements TaskIndex {
  readonly #statements: Statements;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  async get(taskId: string): Promise<StoredTask | undefined> {
    const row = this.#statements.get(GET).get(taskId) as unknown as StoredTaskRow | undefined;
    return row && toStoredTask(row);
  }

  async list(query: TaskQuery): Promise<TaskRecordPage> {
    const filter = filterValues(query);
    const { after, limit } = query;
    const { until: _, ...counted } = filter;
    const [total] = this.#statements.get(countSql(query)).get(counted) as unknown as [number];
    const rows = this.#statements.get(pageSql(query)).all({
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
    return toRecords(this.#statements.get(OF_CONTEXT).all(owner, contextId, before, limit));
  }

  async changedSince(query: ChangedQuery): Promise<readonly TaskRecord[]> {
    const { owner, contextId, at } = query;
    const statement = this.#statements.get(changedSql(query));
    return toRecords(
      statement.all(contextId === undefined ? { owner, at } : { owner, contextId, at }),
    );
  }

  async unfinished(after: string, limit: number): Promise<readonly TaskRecord[]> {
    return toRecords(this.#statements.get(UNFINISHED).all(after, limit));
  }

  async waking(limit: number): Promise<readonly TaskRecord[]> {
    return toRecords(this.#statements.get(WAKING).all(limit));
  }
}
