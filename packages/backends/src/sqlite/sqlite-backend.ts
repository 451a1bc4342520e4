import { once } from "node:events";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { TASK_STATES, isTerminal, mayFollow } from "@convoke/protocol";
import {
  type Backend,
  type Committed,
  type NewPush,
  type PruneQuery,
  type PushProgress,
  type PushQuery,
  type PushRecord,
  type PushStore,
  type RetentionStore,
  type Seq,
  type Snapshot,
  type Step,
  type Stored,
  type TaskIndex,
  type TaskRecord,
  Watchers,
} from "@convoke/engine";
import { DataFolderError, type HeldFolder, type HolderFacts, holdFolder } from "./data-folder.ts";
import { ReadSide, type Statements } from "./read-side.ts";
import type { FromWriter, WriterSettings } from "./thread-messages.ts";
import { WriterThread } from "./writer-thread.ts";
import {
  GET_PUSH,
  PUSHES_OF_TASK,
  type PushRow,
  pushValues,
  pushesSql,
  toPush,
} from "./push-writer.ts";
import { COMPACTABLE, toRecords } from "./task-sql.ts";

/**
 * Opens the tasks of a data folder. The folder is this backend's alone until it
 * is closed: one process serves it (G4), and the next one is told which.
 */
export function openSqliteBackend(options: SqliteBackendOptions): Promise<Backend> {
  return openWithWorker(options, startWorker);
}

/** The seam for tests that look at the writer thread, or end it. */
export async function openWithWorker(
  options: SqliteBackendOptions,
  start: (settings: WriterSettings) => Worker,
): Promise<Backend> {
  const { durability = "power", busyTimeoutMs = 5_000, maxBytes, onFatal } = options;
  const folder = holdFolder(options.folder, options.holder);
  let worker: Worker | undefined;
  try {
    const file = join(folder.path, "tasks.db");
    worker = start({ file, durability, busyTimeoutMs, maxBytes, ...stateRules() });
    await opened(worker);
    return new SqliteBackend({
      folder,
      worker,
      reader: new ReadSide(file, busyTimeoutMs),
      onFatal,
    });
  } catch (error) {
    await worker?.terminate();
    folder.release();
    throw DataFolderError.unusable(folder.path, error);
  }
}

interface Parts {
  readonly folder: HeldFolder;
  readonly worker: Worker;
  readonly reader: ReadSide;
  readonly onFatal: ((error: Error) => void) | undefined;
}

class SqliteBackend implements Backend {
  readonly tasks: TaskIndex;
  readonly pushes: PushStore;
  readonly retention: RetentionStore;
  readonly #folder: HeldFolder;
  readonly #reader: ReadSide;
  readonly #writer: WriterThread;
  readonly #watchers = new Watchers();
  #closed: Promise<void> | undefined;

  constructor({ folder, worker, reader, onFatal = () => {} }: Parts) {
    this.#folder = folder;
    this.#reader = reader;
    this.tasks = reader.tasks;
    this.#writer = new WriterThread({
      worker,
      onFatal,
      onCommitted: (taskId, head) => this.#watchers.wake(taskId, head),
    });
    this.pushes = new SqlitePushStore(reader.statements, this.#writer);
    this.retention = new SqliteRetentionStore(reader.statements, this.#writer);
  }

  commit(step: Step): Promise<Committed> {
    return this.#writer.commit(step);
  }

  read(taskId: string, after: Seq, limit: number): Promise<readonly Stored[]> {
    return this.#reader.read(taskId, after, limit);
  }

  watch(taskId: string, wake: (head: Seq) => void): () => void {
    return this.#watchers.watch(taskId, wake);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /**
   * The reader leaves before the writer, because the last connection to leave
   * folds the write-ahead log into the database, and only the writer may.
   */
  async #close(): Promise<void> {
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

const RUNS_FROM_SOURCE = import.meta.url.endsWith(".ts");

/**
 * Node 22 calls its SQLite experimental, which the main thread has said already. From source, a
 * thread resolves packages as the main thread does only if it is told the same condition.
 */
export const WORKER_FLAGS = [
  "--disable-warning=ExperimentalWarning",
  ...(RUNS_FROM_SOURCE ? ["--conditions=@convoke/source"] : []),
];

/** The extension is that of this file: sources run as they are, in development, and as JavaScript when built. */
function startWorker(settings: WriterSettings): Worker {
  const file = RUNS_FROM_SOURCE ? "./worker.ts" : "./worker.js";
  return new Worker(new URL(file, import.meta.url), {
    workerData: settings,
    execArgv: WORKER_FLAGS,
    name: "storage",
  });
}

/** The state machine of tasks as data, because the writer thread does not load the protocol package. */
function stateRules(): Pick<WriterSettings, "terminal" | "followers"> {
  return {
    terminal: new Set(TASK_STATES.filter(isTerminal)),
    followers: new Map(
      TASK_STATES.map((from) => [from, new Set(TASK_STATES.filter((to) => mayFollow(from, to)))]),
    ),
  };
}

/** Waits for the writer's first word, or for its end when it has none. */
async function opened(worker: Worker): Promise<void> {
  const spoken = once(worker, "message").then(([message]) => message as FromWriter);
  const ended = once(worker, "exit").then(
    ([code]) => new Error(`the storage thread exited with code ${code}`),
  );
  const first = await Promise.race([spoken, ended]);
  if (first instanceof Error) throw first;
  if (first.kind === "unusable") throw new Error(first.reason);
}

/** Push configs: read on the read-only connection, written by the thread. */
class SqlitePushStore implements PushStore {
  readonly #statements: Statements;
  readonly #writer: WriterThread;

  constructor(statements: Statements, writer: WriterThread) {
    this.#statements = statements;
    this.#writer = writer;
  }

  put(taskId: string, { id, config, cursor }: NewPush): Promise<PushRecord | undefined> {
    return this.#writer.write({ kind: "put-push", taskId, push: { id, config, cursor } });
  }

  async get(taskId: string, id: string): Promise<PushRecord | undefined> {
    const row = this.#statements.get(GET_PUSH).get(taskId, id) as unknown as PushRow | undefined;
    return row && toPush(row);
  }

  async ofTask(taskId: string): Promise<readonly PushRecord[]> {
    return toPushes(this.#statements.get(PUSHES_OF_TASK).all(taskId));
  }

  async list(query: PushQuery): Promise<readonly PushRecord[]> {
    return toPushes(this.#statements.get(pushesSql(query)).all(pushValues(query)));
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

/** How the database stays small. What it drops is dropped by the thread, between the steps. */
class SqliteRetentionStore implements RetentionStore {
  readonly #statements: Statements;
  readonly #writer: WriterThread;

  constructor(statements: Statements, writer: WriterThread) {
    this.#statements = statements;
    this.#writer = writer;
  }

  prune({ endedBefore, keep, limit }: PruneQuery): Promise<number> {
    return this.#writer.write({ kind: "prune", query: { endedBefore, keep, limit } });
  }

  forgetMessages(acceptedBefore: number, limit: number): Promise<number> {
    return this.#writer.write({ kind: "forget-messages", acceptedBefore, limit });
  }

  forgetContexts(endedBefore: number, limit: number): Promise<number> {
    return this.#writer.write({ kind: "forget-contexts", endedBefore, limit });
  }

  async compactable(endedBefore: number, limit: number): Promise<readonly TaskRecord[]> {
    return toRecords(this.#statements.get(COMPACTABLE).all(endedBefore, limit));
  }

  compact(taskId: string, { seq, json }: Snapshot): Promise<boolean> {
    return this.#writer.write({ kind: "compact", taskId, snapshot: { seq, json } });
  }

  reclaim(): Promise<boolean> {
    return this.#writer.reclaim();
  }
}

export interface SqliteBackendOptions {
  /** Where the database lives. Created, for this user alone, when it is missing. */
  readonly folder: string;

  /**
   * What a resolved commit survives: `"power"`, the default, the loss of power
   * (`synchronous=FULL`, one sync of the disk for each group of commits);
   * `"process"` only the end of the process (`NORMAL`), which is several times faster.
   */
  readonly durability?: "power" | "process";

  /**
   * Called once when the writer thread died. Nothing can be committed any more;
   * a server should say so in one sentence and exit, so that it is started again.
   */
  readonly onFatal?: (error: Error) => void;

  /** Facts about this process, such as its port, that the next one is shown when it finds the folder in use. */
  readonly holder?: HolderFacts;

  /** How long a commit waits for another program that writes to the database: 5000 by default. */
  readonly busyTimeoutMs?: number;

  /**
   * The size the database may grow to; then commits reject and reads go on. No
   * limit by default. The write-ahead log comes on top, some megabytes.
   */
  readonly maxBytes?: number;
}
