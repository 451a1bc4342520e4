import { isTerminal } from "@convoke/protocol";
import type { Connection, Statement } from "../postgres/connection.ts";
import { SET_META, readWritten, setWritten, writeSchemaMark } from "../postgres/marked-schema.ts";
import { endpointIn } from "../postgres/push-store.ts";
import { pushStateNumber, stateNumber } from "../postgres/schema.ts";
import { RELEASED } from "../postgres/sharing-sql.ts";
import { toText } from "../postgres/text.ts";
import { FILE, PostgresSource, otherTables, quoted } from "./postgres-source.ts";
import { FILE_VALUES } from "./folder-files.ts";
import type { StoreRecord, StoreSource, StoreTarget, TableRow } from "./store.ts";

/**
 * The number of a task starts with the day of its creation, see `schema.ts`. Unfinished tasks are
 * released: the first server that serves their agent decides how each goes on.
 */
const TASKS = `
  WITH created AS (
    INSERT INTO @.task (n, task_id, owner, context, agent, agent_id, epoch, state, status_at, created_at,
      listed, ended, compacted, wake_at, run_by)
    SELECT ((r.created_at / 86400000) << 38) + nextval('@.task_n'), task_id, owner, context, agent, agent_id,
      epoch, state, status_at, created_at, listed, ended, compacted, wake_at,
      CASE WHEN ended THEN NULL ELSE ${RELEASED} END
    FROM json_to_recordset($1::json) AS r(task_id text, owner text, context text, agent text,
      agent_id text, epoch bigint, state smallint, status_at bigint, created_at bigint, listed boolean,
      ended boolean, compacted boolean, wake_at bigint)
    RETURNING owner, agent_id, state, listed, ended),
  counted AS (
    INSERT INTO @.counts (owner, agent_id, state, shard, tasks)
    SELECT owner, coalesce(agent_id, ''), state, 0, count(*) FROM created WHERE listed GROUP BY 1, 2, 3
    ON CONFLICT (owner, agent_id, state, shard) DO UPDATE SET tasks = counts.tasks + excluded.tasks)
  INSERT INTO @.ended_count (shard, tasks)
  SELECT 0, count(*) FROM created WHERE ended HAVING count(*) > 0
  ON CONFLICT (shard) DO UPDATE SET tasks = ended_count.tasks + excluded.tasks`;

const TASK = "CROSS JOIN LATERAL (SELECT n, epoch FROM @.task WHERE task_id = r.task_id LIMIT 1) t";

/** How each kind of record is stored: the statement, and the row of its JSON. */
const INSERTS: {
  readonly [K in Exclude<StoreRecord["kind"], "row" | "blob">]: {
    readonly text: string;
    readonly toRow: (record: Extract<StoreRecord, { readonly kind: K }>) => object;
  };
} = {
  task: {
    text: TASKS,
    toRow: ({ taskId, owner, context, agent, agentId, epoch, state, ...times }) => ({
      task_id: toText(taskId),
      owner: toText(owner),
      context: toText(context),
      agent: toText(agent),
      agent_id: agentId === null ? null : toText(agentId),
      epoch,
      state: stateNumber(state),
      status_at: times.statusAt,
      created_at: times.createdAt,
      listed: times.listed,
      ended: isTerminal(state),
      compacted: times.compacted,
      wake_at: times.wakeAt,
    }),
  },
  host: {
    text: `UPDATE @.task t SET host = r.host
      FROM json_to_recordset($1::json) AS r(task_id text, host text) WHERE t.task_id = r.task_id`,
    toRow: ({ taskId, host }) => ({ task_id: toText(taskId), host }),
  },
  segment: {
    text: `INSERT INTO @.segment (task, first, last, epoch, at, body)
      SELECT t.n, r.first, r.last, t.epoch, r.at, r.body
      FROM json_to_recordset($1::json) AS r(task_id text, first int, last int, at bigint, body text) ${TASK}`,
    toRow: ({ taskId, first, last, at, body }) => ({
      task_id: toText(taskId),
      first,
      last,
      at,
      body,
    }),
  },
  snapshot: {
    text: `INSERT INTO @.snapshot (task, seq, json) SELECT t.n, r.seq, r.json
      FROM json_to_recordset($1::json) AS r(task_id text, seq int, json text) ${TASK}`,
    toRow: ({ taskId, seq, json }) => ({ task_id: toText(taskId), seq, json }),
  },
  push: {
    text: `INSERT INTO @.push (task_id, id, config, endpoint, generation, cursor, state, failing_since, problem)
      SELECT * FROM json_to_recordset($1::json) AS r(task_id text, id text, config text, endpoint text,
        generation int, cursor int, state smallint, failing_since bigint, problem text)`,
    toRow: ({ taskId, id, config, generation, cursor, state, failingSince, problem }) => ({
      task_id: toText(taskId),
      id: toText(id),
      config,
      endpoint: endpointIn(config),
      generation,
      cursor,
      state: pushStateNumber(state),
      failing_since: failingSince,
      problem: problem === null ? null : toText(problem),
    }),
  },
  message: {
    text: `INSERT INTO @.message (key, task_id, digest, at, task)
      SELECT r.key, r.task_id, r.digest, r.at,
        CASE WHEN r.is_orphan THEN NULL ELSE (SELECT t.n FROM @.task t WHERE t.task_id = r.task_id) END
      FROM json_to_recordset($1::json) AS r(key uuid, task_id text, digest text, at bigint, is_orphan boolean)`,
    toRow: ({ key, taskId, digest, at, isOrphan }) => ({
      key,
      task_id: toText(taskId),
      digest: toText(digest),
      at,
      is_orphan: isOrphan,
    }),
  },
  context: {
    text: `INSERT INTO @.pruned_context (owner, context, agent_id, at)
      SELECT * FROM json_to_recordset($1::json) AS r(owner text, context text, agent_id text, at bigint)`,
    toRow: ({ owner, context, agentId, at }) => ({
      owner: toText(owner),
      context: toText(context),
      agent_id: toText(agentId),
      at,
    }),
  },
  sequence: {
    text: `SELECT setval(('@.' || quote_ident(r.name))::regclass,
        greatest(r.value, nextval(('@.' || quote_ident(r.name))::regclass)))
      FROM json_to_recordset($1::json) AS r(name text, value bigint)
      WHERE to_regclass('@.' || quote_ident(r.name)) IS NOT NULL`,
    toRow: ({ name, value }) => ({ name, value }),
  },
  file: {
    text: `WITH file AS MATERIALIZED (
        SELECT * FROM json_to_recordset($1::json) AS r(name text, text text, collection text, key text)),
      value AS (
        INSERT INTO @.kv (collection, key, value)
        SELECT collection, key, text FROM file WHERE collection IS NOT NULL
        ON CONFLICT (collection, key) DO NOTHING)
      INSERT INTO @.meta (key, value) SELECT '${FILE}' || name, text FROM file WHERE collection IS NULL
      ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
    toRow: ({ name, text }) => {
      const value = FILE_VALUES.find(({ file }) => file === name);
      return value === undefined ? { name, text } : { ...value, text: toText(text) };
    },
  },
};

/** Fills a schema whose tables exist. Servers refuse it as long as it has its mark. */
export class PostgresTarget implements StoreTarget {
  readonly #connect: () => Connection;
  readonly #connection: Connection;
  readonly #schema: string;
  readonly #isAtomic: boolean;
  readonly #tables: ReadonlySet<string>;
  #written: number;

  static async open(
    connect: () => Connection,
    schema: string,
    { isAtomic, place }: { readonly isAtomic: boolean; readonly place: string | undefined },
  ): Promise<PostgresTarget> {
    const connection = connect();
    if (place !== undefined) await connection.rows(SET_META, ["place", place]);
    const tables = await otherTables(connection, schema);
    const written = isAtomic ? 0 : await readWritten(connection);
    if (isAtomic) await connection.rows("BEGIN");
    return new PostgresTarget({ connect, connection, schema, isAtomic, tables, written });
  }

  private constructor(parts: {
    readonly connect: () => Connection;
    readonly connection: Connection;
    readonly schema: string;
    readonly isAtomic: boolean;
    readonly tables: readonly string[];
    readonly written: number;
  }) {
    this.#connect = parts.connect;
    this.#connection = parts.connection;
    this.#schema = parts.schema;
    this.#isAtomic = parts.isAtomic;
    this.#tables = new Set(parts.tables);
    this.#written = parts.written;
  }

  get written(): number {
    return this.#written;
  }

  accepts(record: StoreRecord): boolean {
    if (record.kind === "blob") return false;
    return record.kind !== "row" || this.#tables.has(record.table);
  }

  async write(records: readonly StoreRecord[]): Promise<void> {
    const groups = Map.groupBy(records, (record) =>
      record.kind === "row" ? `row ${record.table}` : record.kind,
    );
    const statements = [...groups.values()].map(toStatement);
    const written = this.#written + records.length;
    if (this.#isAtomic)
      for (const { text, values } of statements) await this.#connection.rows(text, values);
    else await this.#connection.batch([...statements, setWritten(written)]);
    this.#written = written;
  }

  reread(): Promise<StoreSource> {
    return PostgresSource.open(this.#connect(), this.#schema);
  }

  async finish(): Promise<void> {
    await writeSchemaMark(this.#connection, undefined);
    if (this.#isAtomic) await this.#connection.rows("COMMIT");
  }

  /** The end of the connection ends its transaction. */
  async close(): Promise<void> {
    await this.#connection.close();
  }
}

/** One statement for records of the same kind. */
function toStatement(records: readonly StoreRecord[]): Statement {
  const [first] = records;
  if (first!.kind === "row") return tableStatement(records as readonly TableRow[]);
  const { text, toRow } = INSERTS[first!.kind as keyof typeof INSERTS];
  return { text, values: [JSON.stringify(records.map(toRow as (record: StoreRecord) => object))] };
}

/** Columns that the rows do not have get their defaults. What is there already stays. */
function tableStatement(rows: readonly TableRow[]): Statement {
  const table = `@.${quoted(rows[0]!.table)}`;
  const columns = Object.keys(JSON.parse(rows[0]!.json) as object)
    .map(quoted)
    .join(", ");
  return {
    text: `INSERT INTO ${table} (${columns}) OVERRIDING SYSTEM VALUE
      SELECT ${columns} FROM json_populate_recordset(NULL::${table}, $1::json) ON CONFLICT DO NOTHING`,
    values: [`[${rows.map(({ json }) => json).join(",")}]`],
  };
}
