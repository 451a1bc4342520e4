import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";
import type { PushState } from "@convoke/engine";
import type { TaskState } from "@convoke/protocol";
import { belowName } from "../files/blob-names.ts";
import { Connection, type DatabaseAddress, type Rows, toAddress } from "../postgres/connection.ts";
import { DatabaseError } from "../postgres/database-error.ts";
import { readSchemaMark, schemaMarkStatement, whySchemaMarked } from "../postgres/marked-schema.ts";
import { messageKey } from "../postgres/message-key.ts";
import { prepareSchema } from "../postgres/migrations.ts";
import { endpointIn } from "../postgres/push-store.ts";
import { pushStateNumber, stateNumber } from "../postgres/schema.ts";
import { RELEASED } from "../postgres/sharing-sql.ts";
import { subAgentSchema } from "../postgres/sub-agent-schema.ts";
import { toText } from "../postgres/text.ts";
import { decodeTimes } from "../sqlite/commit-times.ts";
import { FILES_FOLDER, type HeldFolder, holdFolder } from "../sqlite/data-folder.ts";
import { readFolderMark, whyFolderMarked, writeFolderMark } from "../sqlite/marked-folder.ts";
import { applyCommitLog } from "../sqlite/sqlite-backend.ts";
import { primaryCode } from "../sqlite/storage-error.ts";
import { packLines, unpackLines } from "../storage/front-coding.ts";
import type { TransferMark } from "../storage/transfer-mark.ts";
import { copyTree, storesIn } from "./copy-folder.ts";
import { type CopyOptions, TransferError } from "./transfer-error.ts";

export interface CopyToDatabaseOptions extends CopyOptions {
  /** A data folder. No server may use it. */
  readonly from: string;
  /** The address of a Postgres database without tasks. */
  readonly to: string;
  /** The folder in which servers will find the large files. Needed if there are any. */
  readonly files?: string | undefined;
}

/**
 * Moves the tasks of a data folder, and those of sub-agents, to a database. Each folder is copied in
 * one transaction. Servers refuse the database until all of it is there, and the folder from the
 * beginning on. If it is killed, at any point, the next call with the same places completes it.
 *
 * @example
 * await copyToDatabase({ from: ".convoke/my-agent", to: "postgres://convoke@db/convoke" });
 */
export async function copyToDatabase({
  from,
  to,
  files,
  ...options
}: CopyToDatabaseOptions): Promise<{ readonly tasks: number }> {
  const folder = resolve(from);
  const address = toAddress(to);
  const paths = storesIn(folder);
  if (files === undefined && paths.some((path) => hasFiles(join(folder, path)))) {
    throw new TransferError(
      "The tasks have large files, and a database has no place for them: name the folder in which servers will find them with --files.",
    );
  }
  // The first folder comes last: as long as it is not moved, no server starts.
  const moves = toMoves(folder, paths, { address, files, options }).toReversed();
  try {
    const unfinished: Move[] = [];
    for (const move of moves) if (!(await move.isFinished())) unfinished.push(move);
    if (unfinished.length === 0) throw new TransferError(`${folder} was moved already.`);
    await beginAll(unfinished);
    let tasks = 0;
    for (const move of unfinished) tasks += await move.copy();
    for (const move of unfinished) await move.finish();
    return { tasks };
  } catch (error) {
    throw TransferError.explain(error, `${folder} could not be copied to ${labelOf(address)}`);
  } finally {
    for (const move of moves) await move.close();
  }
}

interface Target {
  readonly address: DatabaseAddress;
  readonly files: string | undefined;
  readonly options: CopyOptions;
}

/** A sub-agent has the schema in which servers look for it. */
function toMoves(folder: string, paths: readonly string[], target: Target): readonly Move[] {
  const { address, files } = target;
  const known = new Map<string, string>();
  return paths.map((path) => {
    const schema = schemaFor(path, paths, address.schema);
    const other = known.get(schema);
    if (other !== undefined) {
      throw new TransferError(
        `The tasks in ${other} and ${path} would both be in schema ${schema}: rename one of these sub-agents first.`,
      );
    }
    known.set(schema, path);
    const below = path === "" ? files : files && join(files, belowName(schema));
    const own = { ...target, address: { ...address, schema }, files: below };
    return new Move(join(folder, path), own);
  });
}

/** Named after the agents on the path that have tasks of their own. */
function schemaFor(path: string, paths: readonly string[], root: string): string {
  const words = path.split(/[/\\]/);
  return words
    .map((_, index) => words.slice(0, index + 1).join("/"))
    .filter((above) => above !== "" && paths.some((one) => one.replaceAll("\\", "/") === above))
    .reduce((schema, above) => subAgentSchema(schema, above.split("/").at(-1)!), root);
}

/** Either all are marked, or none more than before. */
async function beginAll(moves: readonly Move[]): Promise<void> {
  try {
    for (const move of moves) await move.begin();
  } catch (error) {
    // What still has a mark because the database is gone is moved by the next call.
    for (const move of moves) await move.giveUp().catch(() => undefined);
    throw error;
  }
}

/** Without user and password. */
function labelOf({ label, schema }: DatabaseAddress): string {
  return `postgres://${label}?schema=${schema}`;
}

function hasFiles(folder: string): boolean {
  const files = join(folder, FILES_FOLDER);
  return existsSync(files) && readdirSync(files).length > 0;
}

/** A copy may wait for long between two statements of a transaction. */
const SETTINGS = ["SET idle_in_transaction_session_timeout = 0"];

/** What the folder and the schema said before. */
interface Marks {
  readonly source: TransferMark | undefined;
  readonly target: TransferMark | undefined;
}

/** One folder with tasks, and the schema to which they move. */
class Move {
  readonly #folder: string;
  readonly #target: Target;
  readonly #label: string;
  readonly #connection: Connection;
  #held: HeldFolder | undefined;
  #before: Marks = { source: undefined, target: undefined };
  #id: string = randomUUID();
  /** Whether the marks were written. */
  #hasBegun = false;

  constructor(folder: string, target: Target) {
    const { address } = target;
    this.#folder = folder;
    this.#target = target;
    this.#label = labelOf(address);
    const createClient = (): ReturnType<typeof address.createClient> => address.createClient(0);
    this.#connection = new Connection({ ...address, createClient, settings: SETTINGS });
  }

  /** Whether an earlier call has moved it. Rejects if it cannot be moved. */
  async isFinished(): Promise<boolean> {
    const source = readFolderMark(this.#folder);
    if (source !== undefined && source.peer !== this.#label) {
      throw new TransferError(`${this.#folder} ${whyFolderMarked(source)}`);
    }
    const { address } = this.#target;
    const target = await this.#inDatabase(async () => {
      await prepareSchema(this.#connection, address);
      return readSchemaMark(this.#connection);
    });
    if (target === undefined && source?.isDone === true) return true;
    this.#id = source?.id ?? this.#id;
    if (target !== undefined && (target.role !== "target" || target.id !== this.#id)) {
      throw new TransferError(`${this.#label} ${whySchemaMarked(target, address.schema)}.`);
    }
    const isEmpty = async (): Promise<boolean> =>
      (await this.#connection.rows(CONTENT)).length === 0;
    if (target === undefined && !(await this.#inDatabase(isEmpty))) {
      throw new TransferError(`${this.#label} has tasks already: name an empty database.`);
    }
    this.#before = { source, target };
    return false;
  }

  /** Keeps servers away from both. Rejects if one uses them. */
  async begin(): Promise<void> {
    this.#held = holdFolder(this.#folder);
    if (existsSync(join(this.#folder, "tasks.db"))) applyCommitLog(this.#folder);
    this.#hasBegun = true;
    writeFolderMark(this.#folder, this.#mark("source", this.#isCopied));
    await this.#inDatabase(async () => {
      await this.#setTarget(this.#before.target ?? this.#mark("target", false));
      const [living] = await this.#connection.rows(LIVING);
      if (living === undefined) return;
      throw new TransferError(
        `A server on ${String(living[0])} uses ${this.#label}: stop it first. The lease of one that was killed ends after a few seconds.`,
      );
    });
  }

  /** Both say again what they said before. */
  async giveUp(): Promise<void> {
    if (!this.#hasBegun) return;
    await this.#setTarget(this.#before.target);
    writeFolderMark(this.#folder, this.#before.source);
  }

  /** The mark of the schema says in the same transaction that it has everything. Returns the number of tasks. */
  async copy(): Promise<number> {
    const tables = new FolderTables(this.#folder);
    try {
      await this.#copyFiles();
      if (!this.#isCopied) {
        await this.#inDatabase(() =>
          this.#connection.transaction((run) => this.#fill(tables, run)),
        );
      }
      return tables.countTasks();
    } finally {
      tables.close();
    }
  }

  async #copyFiles(): Promise<void> {
    const { files, options } = this.#target;
    if (files === undefined) return;
    const report = (): void => options.signal?.throwIfAborted();
    // Where earlier versions had the files of a move until its end, also after the rows were complete.
    rmSync(`${files}.incoming`, { recursive: true, force: true });
    await copyTree(join(this.#folder, FILES_FOLDER), files, { folders: new Set(), report });
  }

  async #fill(tables: FolderTables, run: Connection["rows"]): Promise<void> {
    const { onProgress, signal } = this.#target.options;
    for (const table of FILLED) await run(`DELETE FROM @.${table}`);
    let rows = 0;
    for (const { insert, batch } of tables.all()) {
      signal?.throwIfAborted();
      await run(insert, [toJson(batch)]);
      rows += batch.length;
      onProgress?.(`${rows} rows`);
    }
    const { text, values } = schemaMarkStatement(this.#mark("target", true));
    await run(text, values);
  }

  /** In this order: if it is cut off in between, the schema is still known as that of this folder. */
  async finish(): Promise<void> {
    writeFolderMark(this.#folder, this.#mark("source", true));
    await this.#inDatabase(() => this.#setTarget(undefined));
  }

  async close(): Promise<void> {
    this.#held?.release();
    await this.#connection.close();
  }

  /** Whether the schema has everything, and only the marks are left to be written. */
  get #isCopied(): boolean {
    return this.#before.source?.isDone === true || this.#before.target?.isDone === true;
  }

  #mark(role: TransferMark["role"], isDone: boolean): TransferMark {
    const peer = role === "source" ? this.#label : this.#folder;
    return { id: this.#id, role, peer, isDone };
  }

  async #setTarget(mark: TransferMark | undefined): Promise<Rows> {
    const { text, values } = schemaMarkStatement(mark);
    return this.#connection.rows(text, values);
  }

  /** Explains errors of the database. */
  async #inDatabase<T>(work: () => Promise<T>): Promise<T> {
    const { address, options } = this.#target;
    try {
      return await work();
    } catch (error) {
      const isOther = error instanceof TransferError || primaryCode(error) !== undefined;
      if (isOther || options.signal?.aborted === true) throw error;
      throw new TransferError(`${DatabaseError.unusable(address, error).message}.`, {
        cause: error,
      });
    }
  }
}

const CONTENT = `(SELECT 1 FROM @.task LIMIT 1) UNION ALL (SELECT 1 FROM @.message LIMIT 1)
  UNION ALL (SELECT 1 FROM @.pruned_context LIMIT 1)`;

const LIVING = "SELECT host FROM @.replica WHERE until > clock_timestamp() LIMIT 1";

/** What a copy of an earlier version, which was cut off, may have filled. */
const FILLED = [
  "task",
  "segment",
  "snapshot",
  "message",
  "push",
  "counts",
  "ended_count",
  "pruned_context",
];

type Row = Readonly<Record<string, SQLOutputValue>>;

interface Table {
  /** Of SQLite. Follows an index. */
  readonly select: string;
  /** Of Postgres, for an array of rows in JSON. */
  readonly insert: string;
  /** What is stored in another way. */
  readonly convert?: (row: Row) => Iterable<Row>;
}

const TASK = "CROSS JOIN LATERAL (SELECT n, epoch FROM @.task WHERE task_id = r.task_id LIMIT 1) t";

/** In the order in which they are filled. */
const TABLES: readonly Table[] = [
  {
    select: `SELECT task_id, owner, context, agent, agent_id, epoch, state, status_at, created_at, listed,
      ended, compacted, wake_at FROM tasks ORDER BY task_id`,
    // The number of a task starts with the day of its creation, see `schema.ts`. Unfinished tasks are
    // released: the first server that serves their agent decides how each goes on.
    insert: `
      WITH created AS (
        INSERT INTO @.task (n, task_id, owner, context, agent, agent_id, epoch, state, status_at,
          created_at, listed, ended, compacted, wake_at, run_by)
        SELECT ((r.created_at / 86400000) << 38) + nextval('@.task_n'), task_id, owner, context, agent,
          agent_id, epoch, state, status_at, created_at, listed, ended, compacted, wake_at,
          CASE WHEN ended THEN NULL ELSE ${RELEASED} END
        FROM json_to_recordset($1::json) AS r(task_id text, owner text, context text, agent text,
          agent_id text, epoch bigint, state smallint, status_at bigint, created_at bigint,
          listed boolean, ended boolean, compacted boolean, wake_at bigint)
        RETURNING owner, agent_id, state, listed, ended),
      counted AS (
        INSERT INTO @.counts (owner, agent_id, state, shard, tasks)
        SELECT owner, coalesce(agent_id, ''), state, 0, count(*) FROM created WHERE listed GROUP BY 1, 2, 3
        ON CONFLICT (owner, agent_id, state, shard) DO UPDATE SET tasks = counts.tasks + excluded.tasks)
      INSERT INTO @.ended_count (shard, tasks)
      SELECT 0, count(*) FROM created WHERE ended HAVING count(*) > 0
      ON CONFLICT (shard) DO UPDATE SET tasks = ended_count.tasks + excluded.tasks`,
    convert: (row) => [{ ...row, state: stateNumber(row["state"] as TaskState) }],
  },
  {
    select: `SELECT t.task_id, s.first, s.last, ifnull(s.at, t.created_at) AS at, s.times, s.body
      FROM tasks t CROSS JOIN segments s ON s.task = t.n ORDER BY t.task_id, s.last`,
    insert: `INSERT INTO @.segment (task, first, last, epoch, at, body)
      SELECT t.n, r.first, r.last, t.epoch, r.at, r.body
      FROM json_to_recordset($1::json) AS r(task_id text, first int, last int, at bigint, body text) ${TASK}`,
    convert: splitSegment,
  },
  {
    select: `SELECT t.task_id, s.seq, s.json
      FROM tasks t CROSS JOIN snapshots s ON s.task = t.n ORDER BY t.task_id`,
    insert: `INSERT INTO @.snapshot (task, seq, json) SELECT t.n, r.seq, r.json
      FROM json_to_recordset($1::json) AS r(task_id text, seq int, json text) ${TASK}`,
  },
  {
    select: `SELECT task_id, id, config, generation, cursor, state, failing_since, problem
      FROM pushes ORDER BY task_id, id`,
    insert: `INSERT INTO @.push (task_id, id, config, endpoint, generation, cursor, state, failing_since, problem)
      SELECT * FROM json_to_recordset($1::json) AS r(task_id text, id text, config text, endpoint text,
        generation int, cursor int, state smallint, failing_since bigint, problem text)`,
    convert: (row) => {
      const state = pushStateNumber(row["state"] as PushState);
      return [{ ...row, state, endpoint: endpointIn(String(row["config"])) }];
    },
  },
  {
    select: `SELECT message_key(owner, agent_id, message_id) AS key, task_id, digest, at,
        task IS NULL AS is_orphan FROM messages
      UNION ALL SELECT key, task_id, digest, at, task IS NULL FROM message_keys`,
    insert: `INSERT INTO @.message (key, task_id, digest, at, task)
      SELECT r.key, r.task_id, r.digest, r.at,
        CASE WHEN r.is_orphan THEN NULL ELSE (SELECT t.n FROM @.task t WHERE t.task_id = r.task_id) END
      FROM json_to_recordset($1::json) AS r(key uuid, task_id text, digest text, at bigint, is_orphan boolean)`,
  },
  {
    select: "SELECT owner, context, agent_id, at FROM expired_contexts",
    insert: `INSERT INTO @.pruned_context (owner, context, agent_id, at)
      SELECT * FROM json_to_recordset($1::json) AS r(owner text, context text, agent_id text, at bigint)`,
  },
];

/** What a database keeps as values: erasures that are not finished, and the texts of some files. */
const VALUES: Table = {
  select: "SELECT 'erasures' AS collection, id AS key, json AS value FROM erasures",
  insert: `INSERT INTO @.kv (collection, key, value)
    SELECT * FROM json_to_recordset($1::json) AS r(collection text, key text, value text)
    ON CONFLICT (collection, key) DO NOTHING`,
};

const FILE_VALUES = [
  { file: "agents.json", collection: "agents", key: "changes" },
  { file: "api-keys.json", collection: "api-keys", key: "keys" },
] as const;

/** Postgres has one time for all events of a segment, so one with several is several segments. */
function* splitSegment({ times, ...segment }: Row): Generator<Row> {
  const each = decodeTimes(Number(segment["at"]), times as string | null);
  if (each === undefined) return yield segment;
  const lines = unpackLines(String(segment["body"]));
  const before = Number(segment["first"]);
  for (let start = 0; start < lines.length;) {
    const at = each[start]!;
    let end = start + 1;
    while (each[end] === at) end += 1;
    const body = packLines(lines.slice(start, end));
    yield { ...segment, first: before + start, last: before + end - 1, at, body };
    start = end;
  }
}

/** The most rows and characters that are sent at a time, so that large logs do not fill the memory. */
const MOST_ROWS = 1000;
const MOST_CHARACTERS = 4_000_000;

/** The content of a data folder, as it is stored in a database. */
class FolderTables {
  readonly #folder: string;
  readonly #database: DatabaseSync;

  constructor(folder: string) {
    this.#folder = folder;
    this.#database = new DatabaseSync(join(folder, "tasks.db"), { readOnly: true, timeout: 5000 });
    this.#database.function("message_key", (owner, agentId, messageId) =>
      messageKey(
        { owner: String(owner), agentId: String(agentId) },
        { messageId: String(messageId) },
      ),
    );
  }

  *all(): Generator<{ readonly insert: string; readonly batch: readonly Row[] }> {
    for (const table of TABLES) {
      for (const batch of inBatches(this.#rows(table))) yield { insert: table.insert, batch };
    }
    const values = [...this.#rows(VALUES), ...this.#fileValues()];
    if (values.length > 0) yield { insert: VALUES.insert, batch: values };
  }

  countTasks(): number {
    return Number(this.#database.prepare("SELECT count(*) AS n FROM tasks").get()?.["n"]);
  }

  close(): void {
    this.#database.close();
  }

  *#rows({ select, convert }: Table): Generator<Row> {
    for (const row of this.#database.prepare(select).iterate()) {
      if (convert === undefined) yield row;
      else yield* convert(row);
    }
  }

  *#fileValues(): Generator<Row> {
    for (const { file, collection, key } of FILE_VALUES) {
      const path = join(this.#folder, file);
      if (existsSync(path)) yield { collection, key, value: readFileSync(path, "utf8") };
    }
  }
}

function* inBatches(rows: Iterable<Row>): Generator<readonly Row[]> {
  let batch: Row[] = [];
  let characters = 0;
  for (const row of rows) {
    batch.push(row);
    for (const value of Object.values(row)) {
      if (typeof value === "string") characters += value.length;
    }
    if (batch.length < MOST_ROWS && characters < MOST_CHARACTERS) continue;
    yield batch;
    [batch, characters] = [[], 0];
  }
  if (batch.length > 0) yield batch;
}

/** JSON is the same as before: it has no characters that must be escaped. */
function toJson(rows: readonly Row[]): string {
  return JSON.stringify(rows, (_, value: unknown) =>
    typeof value === "string" ? toText(value) : value,
  );
}
