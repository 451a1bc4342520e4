import { createHash } from "node:crypto";
import { createReadStream, mkdirSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { pipeline } from "node:stream/promises";
import { createZstdDecompress } from "node:zlib";
import { TASK_STATES, isTerminal } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import { blobName, taskName } from "../files/blob-names.ts";
import { FILES_FOLDER } from "../sqlite/data-folder.ts";
import { migrate } from "../sqlite/schema.ts";
import { type CopyOptions, TransferError } from "./transfer-error.ts";

/**
 * Backups of earlier versions were files: a line of JSON that says so, and then, compressed by
 * Zstandard, one JSON line for each record and one with a checksum. They can still be restored into a
 * folder. Version 1 had no large files of tasks.
 */
const VERSIONS = [1, 2];

/** A line. The records of a store follow it; those of one kind come together, and pieces of a file in order. */
type Item = StoreStart | DataFile | OtherRow | Piece | StoredRow | End;

interface StoreStart {
  readonly kind: "store";
  readonly path: string;
}

interface DataFile {
  readonly kind: "file";
  readonly name: string;
  readonly text: string;
}

/** What only a database had, and the registry of a folder. */
interface OtherRow {
  readonly kind: "row" | "host" | "sequence";
  readonly table?: string;
}

/** A part of a large file of a task. */
interface Piece {
  readonly kind: "blob";
  readonly taskId: string;
  readonly digest: string;
  /** The position of its first byte. */
  readonly first: number;
  readonly base64: string;
}

type StoredRow = { readonly kind: keyof typeof INSERTS } & Readonly<
  Record<string, SQLInputValue | boolean>
>;

interface End {
  readonly kind: "end";
  readonly lines: number;
  readonly sha256: string;
}

const ENDED = TASK_STATES.filter(isTerminal)
  .map((state) => `'${state}'`)
  .join(", ");

/** How each kind of record is stored. */
const INSERTS = {
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
} as const;

const COUNT = `
  UPDATE store SET ended = (SELECT count(*) FROM tasks WHERE ended = 1);
  INSERT INTO counts (owner, agent_id, state, tasks)
    SELECT owner, ifnull(agent_id, ''), state, count(*) FROM tasks WHERE listed = 1
    GROUP BY owner, ifnull(agent_id, ''), state;`;

/** Files that a folder had beside its tasks. */
const DATA_FILE =
  /^(?:agent\.json|agent-id|agents\.json|api-keys\.json|files\.key|sub-agent-cancel-[\w-]+\.json)$/;

/** Where each store belongs: it stays within the folder. */
const PATH = /^(?:agents\/(?!\.)[^/\\]+(?:\/agents\/(?!\.)[^/\\]+)*)?$/;

/** Reads the whole file, and rejects if its checksum is wrong or it is not a backup. */
export async function checkBackupFile(file: string): Promise<void> {
  try {
    let count = 0;
    for await (const item of itemsIn(file)) {
      const isMissing = count === 0 && (item.kind !== "store" || item.path !== "");
      if (isMissing || (item.kind === "store" && !PATH.test(item.path))) throw damaged(file);
      count += 1;
    }
    if (count === 0) throw damaged(file);
  } catch (error) {
    throw error instanceof TransferError ? error : damaged(file, error);
  }
}

/**
 * Writes what a file has into a new folder. The file must have been checked.
 *
 * @returns the number of tasks, and how many rows were left out, by the names of their tables
 */
export async function readBackupFile(
  file: string,
  folder: string,
  { onProgress, signal }: CopyOptions = {},
): Promise<{ readonly tasks: number; readonly leftOut: ReadonlyMap<string, number> }> {
  const leftOut = new Map<string, number>();
  let [tasks, records] = [0, 0];
  let store: NewStore | undefined;
  try {
    for await (const item of itemsIn(file)) {
      signal?.throwIfAborted();
      onProgress?.(`${(records += 1)} records`);
      if (item.kind === "task") tasks += 1;
      if (item.kind === "row") leftOut.set(item.table!, (leftOut.get(item.table!) ?? 0) + 1);
      if (item.kind !== "store") store?.add(item);
      else {
        store?.finish();
        store = new NewStore(join(folder, item.path));
      }
    }
    store?.finish();
    return { tasks, leftOut };
  } finally {
    store?.close();
  }
}

/** A data folder that is filled. */
class NewStore {
  readonly #folder: string;
  readonly #database: DatabaseSync;
  readonly #inserts = new Map<string, StatementSync>();

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const file = join(folder, "tasks.db");
    writeFileSync(file, "", { mode: 0o600 });
    this.#database = new DatabaseSync(file);
    // Must come before the first write to a new file.
    this.#database.exec("PRAGMA auto_vacuum = INCREMENTAL");
    migrate(this.#database);
    this.#database.exec("BEGIN");
  }

  add(item: Exclude<Item, StoreStart>): void {
    if (item.kind === "blob") this.#writePiece(item);
    else if (item.kind === "file") this.#writeFile(item);
    else if (item.kind in INSERTS) this.#insert(item as StoredRow);
  }

  finish(): void {
    this.#database.exec(`${COUNT}; COMMIT`);
    this.#database.close();
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  #insert({ kind, ...values }: StoredRow): void {
    let insert = this.#inserts.get(kind);
    if (insert === undefined) {
      insert = this.#database.prepare(INSERTS[kind]);
      insert.setAllowUnknownNamedParameters(true);
      this.#inserts.set(kind, insert);
    }
    // SQLite has no booleans.
    const entries = Object.entries(values).map(
      ([name, value]) => [name, typeof value === "boolean" ? Number(value) : value] as const,
    );
    insert.run(Object.fromEntries(entries));
  }

  #writeFile({ name, text }: DataFile): void {
    if (DATA_FILE.test(name)) writeFileSync(join(this.#folder, name), text, SYNCED);
  }

  #writePiece({ taskId, digest, first, base64 }: Piece): void {
    const file = join(this.#folder, FILES_FOLDER, taskName(taskId), blobName(digest));
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const flag = first === 0 ? "w" : "a";
    writeFileSync(file, Buffer.from(base64, "base64"), { ...SYNCED, flag });
  }
}

const SYNCED = { mode: 0o600, flush: true };

/** The items of a file. The last one comes only if the checksum is right; otherwise it rejects. */
async function* itemsIn(file: string): AsyncGenerator<Exclude<Item, End>> {
  const hash = createHash("sha256");
  let count = 0;
  for await (const line of linesOf(file, await readHeader(file))) {
    const item = JSON.parse(line) as Item;
    if (item.kind === "end") {
      if (item.lines === count && item.sha256 === hash.digest("hex")) return;
      break;
    }
    hash.update(`${line}\n`);
    count += 1;
    yield item;
  }
  throw damaged(file);
}

async function* linesOf(file: string, start: number): AsyncGenerator<string> {
  const text = createZstdDecompress().setEncoding("utf8");
  // The iteration rejects if this does.
  pipeline(createReadStream(file, { start }), text).catch(() => undefined);
  let rest = "";
  for await (const chunk of text as AsyncIterable<string>) {
    const lines = chunk.split("\n");
    lines[0] = rest + lines[0]!;
    rest = lines.pop()!;
    yield* lines;
  }
}

function damaged(file: string, cause?: unknown): TransferError {
  return new TransferError(
    `${file} is damaged or not complete: its checksum is wrong. Use another backup.`,
    { cause },
  );
}

/** How long the first line can be. */
const MAX_HEADER = 10_000;

/** Checks the first line, and resolves to where the rest starts. */
async function readHeader(file: string): Promise<number> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_HEADER), 0, MAX_HEADER, 0);
    const end = buffer.subarray(0, bytesRead).indexOf("\n");
    const header = end < 0 ? undefined : parse(buffer.toString("utf8", 0, end));
    if (!isObject(header) || header["format"] !== "convoke-backup") {
      throw new TransferError(`${file} is not a backup of Convoke.`);
    }
    const version = header["version"];
    if (typeof version === "number" && VERSIONS.includes(version)) return end + 1;
    throw new TransferError(
      `${file} has version ${String(version)}, which this software does not read: restore it with the version that wrote it.`,
    );
  } finally {
    await handle.close();
  }
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
