import { closeSync, existsSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { migrate, refuseNewer } from "./schema.ts";
import { SpaceReclaimer, prepareToShrink } from "./space-reclaimer.ts";
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
import { Misuse } from "@convoke/engine";
import { ContextWriter } from "./context-writer.ts";
import { MessageWriter } from "./message-writer.ts";
import { PushWriter } from "./push-writer.ts";
import { RetentionWriter } from "./retention-writer.ts";
import { StepWriter } from "./step-writer.ts";
import { TaskCounts } from "./task-counts.ts";

// The writer thread: the only writer of the database, so that waiting for the
// disk never holds up the event loop. It imports builtins and files of this
// folder only: packages resolve differently here than in the main thread.

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
    // Before anything writes to a new file, even that it has a write-ahead log.
    database.exec("PRAGMA auto_vacuum = INCREMENTAL");
    const mode = database.prepare("PRAGMA journal_mode = WAL").get()?.["journal_mode"];
    if (mode !== "wal")
      throw new Error("its file system has no shared memory for a write-ahead log");
    database.exec(`PRAGMA synchronous = ${durability === "power" ? "FULL" : "NORMAL"}`);
    refuseNewer(database);
    prepareToShrink(database);
    migrate(database);
    if (maxBytes !== undefined) limitSize(database, maxBytes);
    return database;
  } catch (error) {
    database?.close();
    answer({ kind: "unusable", reason: describe(error) });
    return undefined;
  }
}

/** SQLite would let others read the file, as far as the folder lets them; its companions take after it. */
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
 * Writes one batch in one transaction. A refused or mistaken write is answered
 * alone; when the transaction itself fails, every write fails with it and the
 * next batch begins afresh.
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
      writer.forget();
      if (db.isTransaction) db.exec("ROLLBACK");
      if (index === writes.length || !isFaultOfWrite(error))
        return { kind: "failed", failure: toFailure(error) };
      // The values of this one write could not be stored: once more, without it.
      rejected.set(index, toFailure(error).message);
    }
  }
}

/** Mistakes are found before anything is written, so they need no rollback. */
function attempt(writer: BatchWriter, write: SentWrite): WriteAnswer {
  try {
    return writer.write(write);
  } catch (error) {
    if (error instanceof Misuse) return { kind: "rejected", reason: error.message };
    throw error;
  }
}

/** Whether the values were at fault, not the storage: a wrong type, too large, or against a constraint. */
function isFaultOfWrite(error: unknown): boolean {
  const code = primaryCode(error);
  return (
    code === undefined ||
    code === "SQLITE_TOOBIG" ||
    code === "SQLITE_CONSTRAINT" ||
    code === "SQLITE_MISMATCH"
  );
}

/** Hands each write of a batch to who knows how. Lives in the writer thread, inside a transaction. */
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

  /** Writes what was put off until the end of the batch. */
  flush(): void {
    this.#steps.flush();
    this.#counts.flush();
  }

  /** Drops what was learnt from a transaction that did not happen. */
  forget(): void {
    this.#steps.forget();
    this.#counts.forget();
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
