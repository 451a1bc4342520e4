import type { Connection } from "../postgres/connection.ts";
import { pushStateAt, stateAt } from "../postgres/schema.ts";
import { fromText } from "../postgres/text.ts";
import { FILE_VALUES } from "./folder-files.ts";
import type { FileRow, StoreRecord, StoreSource } from "./store.ts";

/** A statement for each kind of record, and how a row becomes one. Each follows an index. */
const RECORDS: readonly {
  readonly sql: string;
  /** How many rows are read at a time: fewer of those that can be large. */
  readonly page: number;
  readonly toRecord: (row: readonly unknown[]) => StoreRecord;
}[] = [
  {
    sql: `SELECT task_id, owner, context, agent, agent_id, epoch, state, status_at, created_at, listed,
      compacted, wake_at FROM @.task ORDER BY task_id`,
    page: 1000,
    toRecord: ([taskId, owner, context, agent, agentId, epoch, state, statusAt, ...rest]) => ({
      kind: "task",
      taskId: text(taskId),
      owner: text(owner),
      context: text(context),
      agent: text(agent),
      agentId: agentId === null ? null : text(agentId),
      epoch: epoch as number,
      state: stateAt(state as number),
      statusAt: statusAt as number,
      createdAt: rest[0] as number,
      listed: rest[1] as boolean,
      compacted: rest[2] as boolean,
      wakeAt: rest[3] as number | null,
    }),
  },
  {
    sql: `SELECT task_id, host FROM @.task WHERE host <> '' ORDER BY task_id`,
    page: 1000,
    toRecord: ([taskId, host]) => ({
      kind: "host",
      taskId: text(taskId),
      host: host as string,
    }),
  },
  {
    sql: `SELECT t.task_id, s.first, s.last, s.at, s.body
      FROM @.task t JOIN @.segment s ON s.task = t.n ORDER BY t.task_id, s.first`,
    page: 100,
    toRecord: ([taskId, first, last, at, body]) => ({
      kind: "segment",
      taskId: text(taskId),
      first: first as number,
      last: last as number,
      at: at as number,
      body: body as string,
    }),
  },
  {
    sql: `SELECT t.task_id, s.seq, s.json
      FROM @.task t JOIN @.snapshot s ON s.task = t.n ORDER BY t.task_id`,
    page: 20,
    toRecord: ([taskId, seq, json]) => ({
      kind: "snapshot",
      taskId: text(taskId),
      seq: seq as number,
      json: json as string,
    }),
  },
  {
    sql: `SELECT task_id, id, config, generation, cursor, state, failing_since, problem
      FROM @.push ORDER BY task_id, id`,
    page: 1000,
    toRecord: ([taskId, id, config, generation, cursor, state, failingSince, problem]) => ({
      kind: "push",
      taskId: text(taskId),
      id: text(id),
      config: config as string,
      generation: generation as number,
      cursor: cursor as number,
      state: pushStateAt(state as number),
      failingSince: failingSince as number | null,
      problem: problem === null ? null : text(problem),
    }),
  },
  {
    sql: `SELECT key, task_id, digest, at, task IS NULL FROM @.message WHERE entry IS NULL ORDER BY key`,
    page: 1000,
    toRecord: ([key, taskId, digest, at, isOrphan]) => ({
      kind: "message",
      key: (key as string).replaceAll("-", ""),
      taskId: text(taskId),
      digest: text(digest),
      at: at as number,
      isOrphan: isOrphan as boolean,
    }),
  },
  {
    sql: `SELECT owner, context, agent_id, at FROM @.pruned_context ORDER BY owner, context, agent_id`,
    page: 1000,
    toRecord: ([owner, context, agentId, at]) => ({
      kind: "context",
      owner: text(owner),
      context: text(context),
      agentId: text(agentId),
      at: at as number,
    }),
  },
];

function text(value: unknown): string {
  return fromText(value as string);
}

/**
 * Reads a schema in one transaction, so that everything is from the moment when it was opened. Servers
 * are not affected.
 */
export class PostgresSource implements StoreSource {
  readonly #connection: Connection;
  readonly #schema: string;
  #cursors = 0;

  /** @param connection of its own, which is closed with it */
  static async open(connection: Connection, schema: string): Promise<PostgresSource> {
    await connection.rows("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    // The transaction sees the database as it is at the first statement.
    await connection.rows("SELECT 1 FROM @.meta LIMIT 1");
    return new PostgresSource(connection, schema);
  }

  private constructor(connection: Connection, schema: string) {
    this.#connection = connection;
    this.#schema = schema;
  }

  async *records(): AsyncGenerator<StoreRecord> {
    for (const { sql, page, toRecord } of RECORDS) {
      for await (const row of this.#rows(sql, page)) yield toRecord(row);
    }
    for (const table of await otherTables(this.#connection, this.#schema)) {
      const where = table === "kv" ? `WHERE (collection, key) NOT IN (VALUES ${PLACES})` : "";
      const sql = `SELECT row_to_json(t)::text FROM @.${quoted(table)} t ${where}`;
      for await (const [json] of this.#rows(sql, 100)) {
        yield { kind: "row", table, json: json as string };
      }
    }
    const sequences = await this.#connection.rows(SEQUENCES, [this.#schema]);
    for (const [name, value] of sequences) {
      yield { kind: "sequence", name: name as string, value: value as number };
    }
    yield* await this.#files();
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  async #files(): Promise<readonly FileRow[]> {
    const texts = new Map<string, string>();
    for (const [key, value] of await this.#connection.rows(FILES)) {
      texts.set((key as string).slice(FILE.length), value as string);
    }
    for (const [collection, key, value] of await this.#connection.rows(VALUES)) {
      const place = FILE_VALUES.find((one) => one.collection === collection && one.key === key);
      texts.set(place!.file, text(value));
    }
    return [...texts]
      .map(([name, text]) => ({ kind: "file", name, text }) as const)
      .toSorted((one, other) => (one.name < other.name ? -1 : 1));
  }

  async *#rows(sql: string, page: number): AsyncGenerator<readonly unknown[]> {
    // A name of its own: a prepared FETCH must always have the same columns.
    const cursor = `records_${(this.#cursors += 1)}`;
    await this.#connection.rows(`DECLARE ${cursor} NO SCROLL CURSOR FOR ${sql}`);
    for (;;) {
      const rows = await this.#connection.rows(`FETCH FORWARD ${page} FROM ${cursor}`);
      yield* rows;
      if (rows.length < page) break;
    }
    await this.#connection.rows(`CLOSE ${cursor}`);
  }
}

/** Other files of a data folder are kept in `meta`, for the way back. */
export const FILE = "file:";

const FILES = `SELECT key, value FROM @.meta WHERE key LIKE '${FILE}%'`;

/** Where the texts of some files are, for servers. */
const PLACES = FILE_VALUES.map(({ collection, key }) => `('${collection}', '${key}')`).join(", ");

const VALUES = `SELECT collection, key, value FROM @.kv WHERE (collection, key) IN (VALUES ${PLACES})`;

/** Numbers of rows that are not copied, or get new ones. */
const SEQUENCES = `
  SELECT sequencename::text, last_value FROM pg_catalog.pg_sequences
  WHERE schemaname = $1 AND last_value IS NOT NULL
    AND sequencename NOT IN ('task_n', 'replica_n_seq', 'mailbox_id_seq') ORDER BY 1`;

/** Tables that have records of their own, or belong to running processes. */
const OWN_TABLES = [
  "counts",
  "ended_count",
  "endpoint",
  "mailbox",
  "message",
  "meta",
  "pruned_context",
  "push",
  "rate",
  "replica",
  "segment",
  "snapshot",
  "task",
];

/** The other tables of the schema, whose rows are copied as they are. */
export async function otherTables(
  connection: Connection,
  schema: string,
): Promise<readonly string[]> {
  const rows = await connection.rows(
    `SELECT c.relname::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> ALL ($2::text[])
     ORDER BY 1`,
    [schema, OWN_TABLES],
  );
  return rows.map(([name]) => name as string);
}

/** A name in SQL. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
