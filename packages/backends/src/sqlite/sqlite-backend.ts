import { EventEmitter } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import { type Metrics, TASK_STATES, isTerminal, mayFollow } from "@convoke/protocol";
import {
  type Backend,
  type BlobStore,
  type CommitResult,
  type CommitStep,
  type NewPush,
  type PruneQuery,
  type PushProgress,
  type PushQuery,
  type PushRecord,
  type PushStore,
  type RemoveQuery,
  type RetentionStore,
  type Seq,
  type StoredErasure,
  type StoredEvent,
  type StoredSnapshot,
  type TaskIndex,
  type TaskRecord,
  Watchers,
} from "@convoke/engine";
import { createFolderBlobStore } from "../files/folder-blob-store.ts";
import {
  DataFolderError,
  FILES_FOLDER,
  type HeldFolder,
  type HolderFacts,
  holdFolder,
} from "./data-folder.ts";
import { COMMIT_LOG } from "./commit-log.ts";
import { refuseMarked } from "./marked-folder.ts";
import { type Settle, SqliteReader, type Statements } from "./sqlite-reader.ts";
import type { FromWriter, ToWriter, WriterSettings } from "./thread-messages.ts";
import { type CommitMode, LocalWriter } from "./local-writer.ts";
import { openTaskDatabase } from "./task-database.ts";
import { WriteQueue } from "./write-queue.ts";
import type { StorageWorker } from "./writer-thread.ts";
import {
  GET_PUSH,
  PUSHES_OF_TASK,
  type PushRow,
  pushValues,
  pushesSql,
  toPush,
} from "./push-table.ts";
import { COMPACTABLE, toRecords } from "./task-sql.ts";

export interface SqliteBackendOptions {
  /** The data folder. Created if it is missing, with access for this user only. */
  readonly folder: string;

  /**
   * What a resolved commit survives. `"power"` (default): a power failure, at the cost of one disk
   * sync per group of commits. `"process"`: only a crash of the process, without any sync.
   */
  readonly durability?: "power" | "process";

  /**
   * Called once if the writer thread dies, or the database is damaged or lost. Nothing can be
   * committed afterwards, so a server should report the error and exit in order to be restarted.
   */
  readonly onFatal?: (error: Error) => void;

  /** Receives how long commits take, and how many writes share one. Default: nothing is measured. */
  readonly metrics?: Metrics | undefined;

  /** Facts about this process, such as its port, shown to another process that finds the folder in use. */
  readonly holder?: HolderFacts;

  /** How long a commit waits for another program that writes to the database. Default 5000 ms. */
  readonly busyTimeoutMs?: number;

  /**
   * The maximum size of the database. When it is reached, commits reject and reads continue. Default:
   * no limit. The write-ahead log takes a few megabytes in addition.
   */
  readonly maxBytes?: number;
}

/**
 * Opens a data folder. Only one process can use a folder at a time (G4: a task has
 * one writer). Rejects with a `DataFolderBusyError` if another process holds it.
 *
 * @example
 * const backend = await openSqliteBackend({ folder: ".convoke" });
 */
export function openSqliteBackend(options: SqliteBackendOptions): Promise<Backend> {
  return openWithWorker(options, startWorker);
}

/** For tests that observe or terminate the writer thread, or that demand where commits are made. */
export async function openWithWorker(
  options: SqliteBackendOptions,
  start: (settings: WriterSettings) => StorageWorker | Promise<StorageWorker>,
  mode: CommitMode = "auto",
): Promise<Backend> {
  const { onFatal, metrics } = options;
  const folder = holdFolder(options.folder, options.holder);
  let database: DatabaseSync | undefined;
  try {
    refuseMarked(folder.path);
    const settings = settingsFor(folder.path, options);
    const { file, busyTimeoutMs } = settings;
    database = openTaskDatabase(settings);
    const logFile = join(folder.path, COMMIT_LOG);
    const local = new LocalWriter({ database, settings, logFile, mode });
    const damaged = (cause: unknown): Error => DataFolderError.damaged(folder.path, cause);
    const openReader = (settle: Settle): SqliteReader =>
      new SqliteReader({ file, busyTimeoutMs, damaged, settle });
    const startThread = (): StorageWorker | Promise<StorageWorker> => start(settings);
    return new SqliteBackend({ folder, local, startThread, openReader, damaged, onFatal, metrics });
  } catch (error) {
    database?.close();
    folder.release();
    throw DataFolderError.unusable(folder.path, error);
  }
}

/**
 * Puts commits that a killed server has left in its log into the database, and upgrades that. For
 * programs that read the database by themselves; they have to hold the folder.
 */
export function applyCommitLog(folder: string): void {
  const settings = settingsFor(folder);
  const database = openTaskDatabase(settings);
  const logFile = join(folder, COMMIT_LOG);
  try {
    new LocalWriter({ database, settings, logFile, mode: "thread" }).close();
  } catch (error) {
    if (database.isOpen) database.close();
    throw DataFolderError.unusable(folder, error);
  }
}

interface Parts {
  readonly folder: HeldFolder;
  readonly local: LocalWriter;
  readonly startThread: () => StorageWorker | Promise<StorageWorker>;
  readonly openReader: (settle: Settle) => SqliteReader;
  readonly damaged: (cause: unknown) => Error;
  readonly onFatal: ((error: Error) => void) | undefined;
  readonly metrics: Metrics | undefined;
}

/** How often to check that the files of the folder are still there. */
const CHECK_MS = 1000;

class SqliteBackend implements Backend {
  readonly isAfterCrash: boolean;
  readonly tasks: TaskIndex;
  readonly pushes: PushStore;
  readonly retention: RetentionStore;
  readonly blobs: BlobStore;
  readonly #folder: HeldFolder;
  readonly #reader: SqliteReader;
  readonly #writer: WriteQueue;
  readonly #watchers = new Watchers();
  readonly #check: NodeJS.Timeout;
  #closed: Promise<void> | undefined;

  constructor({ folder, local, startThread, openReader, damaged, onFatal, metrics }: Parts) {
    this.#folder = folder;
    this.isAfterCrash = folder.wasLeft;
    this.#writer = new WriteQueue({
      local,
      start: startThread,
      onFatal: (error) => {
        clearInterval(this.#check);
        onFatal?.(error);
      },
      damaged,
      metrics,
      onCommitted: (taskId, head) => this.#watchers.wake(taskId, head),
    });
    const reader = (this.#reader = openReader((taskId) => this.#writer.settle(taskId)));
    this.tasks = reader.tasks;
    folder.lost();
    this.#check = setInterval(() => {
      const lost = folder.lost();
      if (lost !== undefined) this.#writer.fail(lost);
    }, CHECK_MS);
    this.pushes = new SqlitePushStore(reader.statements, this.#writer);
    this.retention = new SqliteRetentionStore(reader.statements, this.#writer);
    this.blobs = createFolderBlobStore(join(folder.path, FILES_FOLDER));
  }

  commit(step: CommitStep): Promise<CommitResult> {
    return this.#writer.commit(step);
  }

  read(
    taskId: string,
    after: Seq,
    limit: number,
    maxLength?: number,
  ): Promise<readonly StoredEvent[]> {
    return this.#reader.read(taskId, after, limit, maxLength);
  }

  watch(taskId: string, wake: (head: Seq) => void): () => void {
    return this.#watchers.watch(taskId, wake);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /**
   * The reader closes before the writer, because the last connection moves the
   * write-ahead log into the database, and the reader is read-only.
   */
  async #close(): Promise<void> {
    clearInterval(this.#check);
    await this.#writer.finish();
    this.#watchers.clear();
    this.#reader.close();
    try {
      await this.#writer.close();
    } finally {
      this.#folder.release();
    }
  }
}

/** The worker has the same extension as this file: TypeScript in development, JavaScript when built. */
export async function startWorker(settings: WriterSettings): Promise<StorageWorker> {
  const isSource = import.meta.url.endsWith(".ts");
  const file = new URL(isSource ? "./worker.ts" : "./worker.js", import.meta.url);
  if (!existsSync(file)) return startInThisThread(settings);
  return new Worker(file, {
    workerData: settings,
    execArgv: [
      // Node 22 warns that SQLite is experimental; the main thread has shown the warning already.
      "--disable-warning=ExperimentalWarning",
      // In development packages resolve to their sources, which need no build.
      ...(isSource ? ["--conditions=@convoke/source"] : []),
    ],
    name: "storage",
  });
}

/**
 * A bundle of a server is one file, without that of the worker. Then the writer runs in this thread:
 * it does the same, but the event loop waits for the disk.
 */
async function startInThisThread(settings: WriterSettings): Promise<StorageWorker> {
  const { runWriter } = await import("./worker.ts");
  const here = new EventEmitter();
  const writer = new EventEmitter();
  const later = (work: () => unknown): void =>
    void setImmediate(() => {
      try {
        work();
      } catch (error) {
        here.emit("error", error);
      }
    });
  const port = Object.assign(writer, {
    postMessage: (message: FromWriter): void => later(() => here.emit("message", message)),
    close: (): void => later(() => here.emit("exit", 0)),
  });
  later(() => runWriter(port, settings));
  return Object.assign(here, {
    postMessage: (message: ToWriter): void => later(() => writer.emit("message", message)),
  });
}

function settingsFor(
  folder: string,
  options: Pick<SqliteBackendOptions, "durability" | "busyTimeoutMs" | "maxBytes"> = {},
): WriterSettings {
  const { durability = "power", busyTimeoutMs = 5_000, maxBytes } = options;
  return {
    file: join(folder, "tasks.db"),
    durability,
    busyTimeoutMs,
    maxBytes,
    // The state machine as data, which can be sent to the writer thread.
    terminal: new Set(TASK_STATES.filter(isTerminal)),
    followers: new Map(
      TASK_STATES.map((from) => [from, new Set(TASK_STATES.filter((to) => mayFollow(from, to)))]),
    ),
  };
}

/** Push configs. Reads use the read-only connection, writes join the batches of steps. */
class SqlitePushStore implements PushStore {
  readonly #statements: Statements;
  readonly #writer: WriteQueue;

  constructor(statements: Statements, writer: WriteQueue) {
    this.#statements = statements;
    this.#writer = writer;
  }

  put(taskId: string, { id, config, cursor }: NewPush): Promise<PushRecord | undefined> {
    return this.#writer.write({ kind: "put-push", taskId, push: { id, config, cursor } });
  }

  async get(taskId: string, id: string): Promise<PushRecord | undefined> {
    await this.#statements.settle(taskId);
    const row = this.#statements.row(GET_PUSH, taskId, id) as PushRow | undefined;
    return row && toPush(row);
  }

  async ofTask(taskId: string): Promise<readonly PushRecord[]> {
    await this.#statements.settle(taskId);
    return toPushes(this.#statements.rows(PUSHES_OF_TASK, taskId));
  }

  async list(query: PushQuery): Promise<readonly PushRecord[]> {
    await this.#statements.settle();
    return toPushes(this.#statements.rows(pushesSql(query), pushValues(query)));
  }

  progress({ taskId, id, generation, cursor, state, failure }: PushProgress): Promise<boolean> {
    return this.#writer.write({
      kind: "progress-push",
      progress: {
        taskId,
        id,
        generation,
        cursor,
        state,
        failure: failure && { since: failure.since, problem: failure.problem },
      },
    });
  }

  delete(taskId: string, id: string): Promise<boolean> {
    return this.#writer.write({ kind: "delete-push", taskId, id });
  }
}

function toPushes(rows: readonly unknown[]): readonly PushRecord[] {
  return (rows as readonly PushRow[]).map(toPush);
}

const ERASURES = "SELECT id, json FROM erasures ORDER BY id";

/** Retention. The writer thread deletes in the same transactions as other writes. */
class SqliteRetentionStore implements RetentionStore {
  readonly #statements: Statements;
  readonly #writer: WriteQueue;

  constructor(statements: Statements, writer: WriteQueue) {
    this.#statements = statements;
    this.#writer = writer;
  }

  prune(query: PruneQuery): Promise<readonly string[]> {
    return this.#writer.write({ kind: "prune", query });
  }

  remove({ taskIds, freesMessages = false }: RemoveQuery): Promise<readonly string[]> {
    return this.#writer.write({ kind: "remove", query: { taskIds, freesMessages } });
  }

  forgetMessages(acceptedBefore: number, limit: number): Promise<number> {
    return this.#writer.write({ kind: "forget-messages", acceptedBefore, limit });
  }

  forgetContexts(endedBefore: number, limit: number): Promise<number> {
    return this.#writer.write({ kind: "forget-contexts", endedBefore, limit });
  }

  async compactable(endedBefore: number, limit: number): Promise<readonly TaskRecord[]> {
    await this.#statements.settle();
    return toRecords(this.#statements.rows(COMPACTABLE, endedBefore, limit));
  }

  compact(
    taskId: string,
    { seq, json }: StoredSnapshot,
    keep: readonly Seq[] = [],
  ): Promise<boolean> {
    return this.#writer.write({ kind: "compact", taskId, snapshot: { seq, json }, keep });
  }

  reclaim(): Promise<boolean> {
    return this.#writer.reclaim();
  }

  forgetOwner(owner: string): Promise<void> {
    return this.#writer.write({ kind: "forget-owner", owner });
  }

  async erasures(): Promise<readonly StoredErasure[]> {
    const rows = this.#statements.rows(ERASURES) as readonly (readonly [string, string])[];
    return rows.map(([id, json]) => ({ id, json }));
  }

  putErasure(id: string, json: string | null): Promise<boolean> {
    return this.#writer.write({ kind: "put-erasure", id, json });
  }

  purge(): Promise<void> {
    return this.#writer.purge();
  }
}
