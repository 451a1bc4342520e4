import { closeSync, existsSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { migrate, refuseNewer } from "./schema.ts";
import { SpaceReclaimer, enableAutoVacuum } from "./space-reclaimer.ts";
import { primaryCode, toFailure } from "./storage-error.ts";
import type {
  FromWriter,
  OtherWrite,
  SentWrite,
  ToWriter,
  WriteAnswer,
  WriteResults,
  WriterSettings,
} from "./thread-messages.ts";
import { Misuse } from "@convoke/engine/backend";
import { ContextWriter, MessageWriter } from "./id-writers.ts";
import { PushWriter } from "./push-table.ts";
import { RetentionWriter } from "./retention-writer.ts";
import { StepWriter } from "./step-writer.ts";
import { TaskCounts } from "./task-counts.ts";

// The writer thread: the only writer of the database, so that waiting for the disk
// never blocks the event loop of the main thread. It imports no package except
// `@convoke/engine/backend`, which is one small file, so that it starts quickly.

if (parentPort === null) throw new Error("this file is the writer thread of the SQLite backend");
const port = parentPort;
const settings = workerData as WriterSettings;

function serve(database: DatabaseSync): void {
  const writer = new BatchWriter(database, settings);
  const reclaimer = new SpaceReclaimer(database, settings.busyTimeoutMs);
  port.on("message", (message: ToWriter) => {
    if (message === "reclaim") return answer(reclaimer.reclaim());
    if (message !== "close") return answer(applyBatch(database, writer, message));
    database.close();
    port.close();
  });
  answer({ kind: "open" });
}

function openDatabase({
  file,
  durability,
  busyTimeoutMs,
  maxBytes,
}: WriterSettings): DatabaseSync | undefined {
  let database: DatabaseSync | undefined;
  try {
    createPrivately(file);
    database = new DatabaseSync(file, { timeout: busyTimeoutMs });
    // Must come before the first write to a new file, including the journal mode.
    database.exec("PRAGMA auto_vacuum = INCREMENTAL");
    const mode = database.prepare("PRAGMA journal_mode = WAL").get()?.["journal_mode"];
    if (mode !== "wal")
      throw new Error("its file system has no shared memory for a write-ahead log");
    database.exec(`PRAGMA synchronous = ${durability === "power" ? "FULL" : "NORMAL"}`);
    refuseNewer(database);
    enableAutoVacuum(database);
    migrate(database);
    if (maxBytes !== undefined) limitSize(database, maxBytes);
    return database;
  } catch (error) {
    database?.close();
    answer({ kind: "unusable", reason: describe(error) });
    return undefined;
  }
}

/** SQLite would create the file readable for others. Its journal files get the same permissions. */
function createPrivately(file: string): void {
  if (!existsSync(file)) closeSync(openSync(file, "a", 0o600));
}

function limitSize(database: DatabaseSync, maxBytes: number): void {
  const pageSize = Number(database.prepare("PRAGMA page_size").get()?.["page_size"]);
  database.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(maxBytes / pageSize))}`);
}

function describe(error: unknown): string {
  const { code, message } = toFailure(error);
  return code === "UNKNOWN" ? message : `${code}: ${message}`;
}

function answer(message: FromWriter): void {
  port.postMessage(message);
}

/**
 * Executes one batch in one transaction. A refused or invalid write does not affect
 * the others. If the transaction itself fails, all of its writes fail.
 */
function applyBatch(
  db: DatabaseSync,
  writer: BatchWriter,
  writes: readonly SentWrite[],
): FromWriter {
  const answers: WriteAnswer[] = [];
  const rejected = new Map<number, string>();
  for (;;) {
    let index = 0;
    try {
      db.exec("BEGIN IMMEDIATE");
      for (; index < writes.length; index += 1) {
        const reason = rejected.get(index);
        answers[index] =
          reason === undefined ? attempt(writer, writes[index]!) : { kind: "rejected", reason };
      }
      writer.flush();
      db.exec("COMMIT");
      return { kind: "answers", answers };
    } catch (error) {
      writer.reset();
      if (db.isTransaction) db.exec("ROLLBACK");
      if (index === writes.length || !isInvalidWrite(error))
        return { kind: "failed", failure: toFailure(error) };
      // The values of this write could not be stored: retry the batch without it.
      rejected.set(index, toFailure(error).message);
    }
  }
}

/** Invalid writes are detected before anything is written, so they need no rollback. */
function attempt(writer: BatchWriter, write: SentWrite): WriteAnswer {
  try {
    return writer.write(write);
  } catch (error) {
    if (error instanceof Misuse) return { kind: "rejected", reason: error.message };
    throw error;
  }
}

/** Whether the error is caused by the values of a write, not by the storage. */
function isInvalidWrite(error: unknown): boolean {
  const code = primaryCode(error);
  return (
    code === undefined ||
    code === "SQLITE_TOOBIG" ||
    code === "SQLITE_CONSTRAINT" ||
    code === "SQLITE_MISMATCH"
  );
}

/** Dispatches the writes of a batch. Used in the writer thread, within a transaction. */
export class BatchWriter {
  readonly #steps: StepWriter;
  readonly #messages: MessageWriter;
  readonly #contexts: ContextWriter;
  readonly #pushes: PushWriter;
  readonly #retention: RetentionWriter;
  readonly #counts: TaskCounts;

  constructor(
    db: DatabaseSync,
    { terminal, followers }: Pick<WriterSettings, "terminal" | "followers">,
  ) {
    const messages = (this.#messages = new MessageWriter(db));
    const contexts = (this.#contexts = new ContextWriter(db));
    const pushes = (this.#pushes = new PushWriter(db));
    const counts = (this.#counts = new TaskCounts(db));
    const parts = { messages, contexts, pushes, counts };
    const steps = (this.#steps = new StepWriter(db, { terminal, followers, ...parts }));
    this.#retention = new RetentionWriter(db, { steps, ...parts });
  }

  write(write: SentWrite): WriteAnswer {
    if (write.kind === undefined) return this.#steps.write(write);
    return { kind: "answered", value: this.#other(write) };
  }

  /** Executes writes that were deferred to the end of the batch. */
  flush(): void {
    this.#steps.flush();
    this.#counts.flush();
  }

  /** Clears all caches after a transaction that was rolled back. */
  reset(): void {
    this.#steps.reset();
    this.#counts.reset();
  }

  #other(write: OtherWrite): WriteResults[keyof WriteResults] {
    switch (write.kind) {
      case "put-push":
        return this.#pushes.put(write.taskId, write.push);
      case "progress-push":
        return this.#pushes.progress(write.progress);
      case "delete-push":
        return this.#pushes.delete(write.taskId, write.id);
      case "prune":
        return this.#retention.prune(write.query);
      case "compact":
        return this.#retention.compact(write.taskId, write.snapshot);
      case "forget-messages":
        return this.#messages.forget(write.acceptedBefore, write.limit);
      case "forget-contexts":
        return this.#contexts.forget(write.endedBefore, write.limit);
      default:
        return write satisfies never;
    }
  }
}

// At the end, when every class above has been evaluated.
const db = openDatabase(settings);
if (db !== undefined) serve(db);
