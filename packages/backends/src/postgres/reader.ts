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
import { unpackLines } from "../storage/front-coding.ts";
import type { Connection, Rows, Statement } from "./connection.ts";
import { ClosedError, sqlState, toFailure } from "./database-error.ts";
import {
  GET,
  RECORD_BY_ID,
  changedSql,
  countSql,
  newestSql,
  ofContextSql,
  pageSql,
  toRecords,
  toStoredTask,
  unfinishedSql,
  wakingSql,
} from "./task-sql.ts";
import { toText } from "./text.ts";

/** Segments of a log that are read at once. A segment has at least one event. */
const SEGMENTS = 256;

/** The most logs that are read by one statement. */
const LOGS = 16;

/** Of each log the segment that contains the event after a position, and those that follow it. */
const SEGMENTS_AFTER = `
  SELECT w.place, s.first, s.last, s.at, s.epoch, s.body
  FROM unnest($1::text[], $2::int[], $3::int[]) WITH ORDINALITY AS w(id, after, count, place)
  CROSS JOIN LATERAL (SELECT n FROM @.task WHERE task_id = w.id LIMIT 1) t
  CROSS JOIN LATERAL (
    SELECT s.first, s.last, s.at, s.epoch, s.body FROM @.segment s
    WHERE s.task = t.n AND s.first >= coalesce(
      (SELECT p.first FROM @.segment p WHERE p.task = t.n AND p.first <= w.after + 1
        ORDER BY p.first DESC LIMIT 1), 0)
    ORDER BY s.first LIMIT w.count) s`;

/** Connections apart from those that commit, so that no read waits for a commit. */
export class Reader {
  readonly #connections: readonly { readonly connection: Connection; pending: number }[];
  /** Pages of logs that are read at the end of this turn of the event loop. */
  #pages: WantedPage[] = [];

  constructor(connections: readonly Connection[]) {
    this.#connections = connections.map((connection) => ({ connection, pending: 0 }));
  }

  /** Reads, and tries again if the connection was lost meanwhile. */
  async rows(text: string, values: readonly unknown[] = []): Promise<Rows> {
    try {
      return await this.#run(text, values);
    } catch (error) {
      if (sqlState(error) !== undefined || error instanceof ClosedError) {
        throw toFailure(error, "the read failed");
      }
    }
    return this.once(text, values);
  }

  /** Executes a statement that must not be repeated. */
  async once(text: string, values: readonly unknown[] = []): Promise<Rows> {
    try {
      return await this.#run(text, values);
    } catch (error) {
      throw toFailure(error, "the database failed");
    }
  }

  /** The first connection unless it has more to do, so that the others connect only under load. */
  async #run(text: string, values: readonly unknown[]): Promise<Rows> {
    const chosen = this.#connections.reduce((one, other) =>
      other.pending < one.pending ? other : one,
    );
    chosen.pending += 1;
    try {
      return await chosen.connection.rows(text, values);
    } finally {
      chosen.pending -= 1;
    }
  }

  async events(
    taskId: string,
    after: Seq,
    limit: number,
    maxLength = Infinity,
  ): Promise<readonly StoredEvent[]> {
    const page: StoredEvent[] = [];
    if (limit <= 0) return page;
    let length = 0;
    for (let from = after; ;) {
      // The first segment may end before the page begins.
      const count = Math.min(limit - page.length + 1, SEGMENTS);
      const rows = await this.#segments(taskId, from, count);
      for (const [, first, last, at, epoch, body] of rows) {
        for (const [index, json] of unpackLines(body).entries()) {
          const seq = first + index;
          if (seq <= from) continue;
          page.push({ seq, json, at, epoch });
          length += json.length;
          if (page.length === limit || length >= maxLength) return page;
        }
        from = Math.max(from, last);
      }
      if (rows.length < count) return page;
    }
  }

  /** Pages of several logs are read together: a process may take over thousands of tasks at once. */
  #segments(taskId: string, after: Seq, count: number): Promise<readonly SegmentRow[]> {
    return new Promise((resolve, reject) => {
      this.#pages.push({ taskId, after, count, resolve, reject });
      if (this.#pages.length === 1) process.nextTick(() => this.#readPages());
    });
  }

  #readPages(): void {
    const pages = this.#pages;
    this.#pages = [];
    for (let from = 0; from < pages.length; from += LOGS) {
      void this.#readTogether(pages.slice(from, from + LOGS));
    }
  }

  async #readTogether(pages: readonly WantedPage[]): Promise<void> {
    const ids = pages.map(({ taskId }) => toText(taskId));
    const positions = pages.map(({ after }) => after);
    const counts = pages.map(({ count }) => count);
    try {
      const rows = await this.rows(SEGMENTS_AFTER, [ids, positions, counts]);
      const byPlace = Map.groupBy(rows as readonly SegmentRow[], ([place]) => place);
      for (const [index, { resolve }] of pages.entries()) resolve(byPlace.get(index + 1) ?? []);
    } catch (error) {
      for (const { reject } of pages) reject(error);
    }
  }
}

interface WantedPage {
  readonly taskId: string;
  readonly after: Seq;
  readonly count: number;
  readonly resolve: (rows: readonly SegmentRow[]) => void;
  readonly reject: (error: unknown) => void;
}

type SegmentRow = readonly [
  place: number,
  first: Seq,
  last: Seq,
  at: number,
  epoch: number,
  body: string,
];

/** Point reads and lists. */
export class PostgresTaskIndex implements TaskIndex {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  async get(taskId: string): Promise<StoredTask | undefined> {
    const [row] = await this.#reader.rows(GET, [toText(taskId)]);
    return row && toStoredTask(row);
  }

  async record(taskId: string): Promise<TaskRecord | undefined> {
    return toRecords(await this.#reader.rows(RECORD_BY_ID, [toText(taskId)]))[0];
  }

  async list(query: TaskQuery): Promise<TaskRecordPage> {
    const count = countSql(query);
    const [[row], records] = await Promise.all([
      this.#reader.rows(count.text, count.values),
      query.limit === 0 ? [] : this.#records(pageSql(query)),
    ]);
    return { records, total: Number(row?.[0]) };
  }

  ofContext(query: ContextQuery): Promise<readonly TaskRecord[]> {
    return this.#records(ofContextSql(query));
  }

  changedSince(query: ChangedQuery): Promise<readonly TaskRecord[]> {
    return this.#records(changedSql(query));
  }

  unfinished(after: string, limit: number): Promise<readonly TaskRecord[]> {
    return this.#records(unfinishedSql(after, limit));
  }

  newest(query: NewestQuery): Promise<readonly TaskRecord[]> {
    return this.#records(newestSql(query));
  }

  waking(limit: number, after?: WakePosition): Promise<readonly TaskRecord[]> {
    return this.#records(wakingSql(limit, after));
  }

  async #records({ text, values }: Statement): Promise<readonly TaskRecord[]> {
    return toRecords(await this.#reader.rows(text, values));
  }
}
