import { closeSync, existsSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { migrate, refuseNewer } from "./schema.ts";
import { SpaceReclaimer, enableAutoVacuum } from "./space-reclaimer.ts";
import { BatchWriter, applyBatch } from "./batch-writer.ts";
import { isDamage, primaryCode, toFailure } from "./storage-error.ts";
import type { FromWriter, ToWriter, WriterSettings } from "./thread-messages.ts";

// The writer thread: the only writer of the database, so that waiting for the disk
// never blocks the event loop of the main thread. It imports no package except
// `@convoke/engine/backend`, which is one small file, so that it starts quickly.

// It can also be loaded elsewhere, where it does nothing: see `runWriter`.
const given = workerData as Partial<WriterSettings> | null | undefined;
if (parentPort !== null && given?.followers !== undefined) {
  runWriter(parentPort, given as WriterSettings);
}

/** The connection of the writer to the thread that it writes for. */
export type WriterPort = Pick<MessagePort, "postMessage" | "close"> & {
  on(event: "message", receive: (message: ToWriter) => void): unknown;
};

/** Opens the database and writes what arrives at the port, until it is told to close. */
export function runWriter(port: WriterPort, settings: WriterSettings): void {
  const answer = (message: FromWriter): void => port.postMessage(message);
  const database = openDatabase(settings, answer);
  if (database === undefined) return;
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

function openDatabase(
  { file, durability, busyTimeoutMs, maxBytes }: WriterSettings,
  answer: (message: FromWriter) => void,
): DatabaseSync | undefined {
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
    const isDamaged = isDamage(primaryCode(error));
    answer({ kind: "unusable", reason: describe(error), isDamaged });
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
