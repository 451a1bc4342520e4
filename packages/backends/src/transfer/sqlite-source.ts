import { DatabaseSync, type SQLOutputValue } from "node:sqlite";
import { decodeTimes } from "../sqlite/commit-times.ts";
import { packLines, unpackLines } from "../storage/front-coding.ts";
import { messageKey } from "../postgres/message-key.ts";
import type { FileRow, StoreRecord, StoreSource, TableRow } from "./store.ts";

/** A statement for each kind of record. Each follows an index, except that messages are sorted by their keys. */
const RECORDS: readonly { readonly kind: StoreRecord["kind"]; readonly sql: string }[] = [
  {
    kind: "task",
    sql: `SELECT task_id AS taskId, owner, context, agent, agent_id AS agentId, epoch, state,
      status_at AS statusAt, created_at AS createdAt, listed, compacted, wake_at AS wakeAt
      FROM tasks ORDER BY task_id`,
  },
  {
    kind: "segment",
    sql: `SELECT t.task_id AS taskId, s.first, s.last, ifnull(s.at, t.created_at) AS at, s.times, s.body
      FROM tasks t CROSS JOIN segments s ON s.task = t.n ORDER BY t.task_id, s.last`,
  },
  {
    kind: "snapshot",
    sql: `SELECT t.task_id AS taskId, s.seq, s.json
      FROM tasks t CROSS JOIN snapshots s ON s.task = t.n ORDER BY t.task_id`,
  },
  {
    kind: "push",
    sql: `SELECT task_id AS taskId, id, config, generation, cursor, state,
      failing_since AS failingSince, problem FROM pushes ORDER BY task_id, id`,
  },
  {
    kind: "message",
    sql: `SELECT message_key(owner, agent_id, message_id) AS key, task_id AS taskId, digest, at,
        task IS NULL AS isOrphan FROM messages
      UNION ALL SELECT key, task_id, digest, at, task IS NULL FROM message_keys ORDER BY key`,
  },
  {
    kind: "context",
    sql: `SELECT owner, context, agent_id AS agentId, at FROM expired_contexts
      ORDER BY owner, context, agent_id`,
  },
];

/** SQLite has no booleans. */
const FLAGS = ["listed", "compacted", "isOrphan"];

/** What is beside the database. */
export interface SqliteSourceParts {
  readonly rows: () => Iterable<TableRow>;
  readonly files: () => Iterable<FileRow>;
}

/**
 * Reads a database of SQLite in one transaction, so that everything is from the moment when it was
 * opened. A server may write meanwhile; its write-ahead log grows until this is closed.
 */
export class SqliteSource implements StoreSource {
  readonly #db: DatabaseSync;
  readonly #parts: SqliteSourceParts;

  constructor(file: string, parts: SqliteSourceParts) {
    this.#parts = parts;
    this.#db = new DatabaseSync(file, { readOnly: true, timeout: 5000 });
    this.#db.function("message_key", { deterministic: true }, (owner, agentId, messageId) =>
      messageKey(
        { owner: String(owner), agentId: String(agentId) },
        { messageId: String(messageId) },
      ),
    );
    // The transaction sees the database as it is at the first read.
    this.#db.exec("BEGIN; SELECT 1 FROM tasks LIMIT 1");
  }

  *records(): Generator<StoreRecord> {
    for (const { kind, sql } of RECORDS) {
      for (const row of this.#db.prepare(sql).iterate()) yield* toRecords(kind, row);
    }
    yield* this.#parts.rows();
    yield* this.#parts.files();
  }

  async close(): Promise<void> {
    this.#db.close();
  }
}

type Row = Readonly<Record<string, SQLOutputValue>>;

/** Other stores have one time for all events of a segment, so one with several is several segments. */
function* toRecords(kind: StoreRecord["kind"], row: Row): Generator<StoreRecord> {
  if (kind !== "segment") return yield toRecord(kind, row);
  const { times, ...segment } = row;
  const first = Number(row["first"]);
  const each = decodeTimes(Number(row["at"]), times as string | null);
  if (each === undefined) return yield toRecord(kind, segment);
  const lines = unpackLines(String(row["body"]));
  for (let start = 0; start < lines.length;) {
    const at = each[start]!;
    let end = start + 1;
    while (each[end] === at) end += 1;
    const body = packLines(lines.slice(start, end));
    yield toRecord(kind, { ...segment, first: first + start, last: first + end - 1, at, body });
    start = end;
  }
}

function toRecord(kind: StoreRecord["kind"], row: Row): StoreRecord {
  const record: Record<string, unknown> = { kind, ...row };
  for (const flag of FLAGS) if (flag in record) record[flag] = record[flag] === 1;
  return record as unknown as StoreRecord;
}
