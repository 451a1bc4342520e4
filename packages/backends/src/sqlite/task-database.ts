import { closeSync, existsSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { migrate, refuseNewer } from "./schema.ts";
import { enableAutoVacuum } from "./space-reclaimer.ts";
import type { WriterSettings } from "./thread-messages.ts";

/** Opens the database for writing. Creates it if it is missing, and applies missing migrations. */
export function openTaskDatabase(settings: WriterSettings): DatabaseSync {
  createPrivately(settings.file);
  const database = new DatabaseSync(settings.file, { timeout: settings.busyTimeoutMs });
  try {
    // Must come before the first write to a new file, including the journal mode.
    database.exec("PRAGMA auto_vacuum = INCREMENTAL");
    const mode = database.prepare("PRAGMA journal_mode = WAL").get()?.["journal_mode"];
    if (mode !== "wal")
      throw new Error("its file system has no shared memory for a write-ahead log");
    refuseNewer(database);
    enableAutoVacuum(database);
    migrate(database);
    prepareToWrite(database, settings);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Another connection to a database that is open already. It waits for no lock. */
export function connectToTaskDatabase(settings: WriterSettings): DatabaseSync {
  const database = new DatabaseSync(settings.file, { timeout: settings.busyTimeoutMs });
  prepareToWrite(database, settings);
  return database;
}

/** What holds for one connection. */
function prepareToWrite(
  database: DatabaseSync,
  { durability, maxBytes }: Pick<WriterSettings, "durability" | "maxBytes">,
): void {
  database.exec(`PRAGMA synchronous = ${durability === "power" ? "FULL" : "NORMAL"}`);
  if (maxBytes === undefined) return;
  const pageSize = Number(database.prepare("PRAGMA page_size").get()?.["page_size"]);
  database.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(maxBytes / pageSize))}`);
}

/** SQLite would create the file readable for others. Its journal files get the same permissions. */
function createPrivately(file: string): void {
  if (!existsSync(file)) closeSync(openSync(file, "a", 0o600));
}
