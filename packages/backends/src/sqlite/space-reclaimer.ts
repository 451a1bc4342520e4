import type { DatabaseSync } from "node:sqlite";
import { primaryCode, toFailure } from "./storage-error.ts";
import type { FromWriter } from "./thread-messages.ts";

/** How many pages are returned at a time. Commits wait a few milliseconds for it. */
const PAGES = 256;

/** How long to wait for readers before the file is truncated. */
const READER_TIMEOUT_MS = 100;

/**
 * Returns unused pages to the operating system. Used in the writer thread, outside
 * of transactions.
 */
export class SpaceReclaimer {
  readonly #db: DatabaseSync;
  readonly #busyTimeoutMs: number;
  /** Whether the file can be truncated. */
  #mustShrink = false;

  constructor(db: DatabaseSync, busyTimeoutMs: number) {
    this.#db = db;
    this.#busyTimeoutMs = busyTimeoutMs;
  }

  /** The answer is whether pages were returned. */
  reclaim(): FromWriter {
    return answer(() => this.#returnPages());
  }

  /**
   * Rewrites the database without anything that was deleted, and empties the write-ahead log: free
   * pages, and free space within pages, have the bytes of deleted rows. Needs as much free disk space
   * as the database has. Fails if a reader, such as a backup, keeps the write-ahead log in use.
   */
  purge(): FromWriter {
    return answer(() => {
      this.#db.exec("VACUUM");
      if (this.#db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.["busy"] === 0) return true;
      throw new Error("the database is being read, so deleted rows could not be overwritten yet");
    });
  }

  /**
   * Moves the write-ahead log into the database, as far as readers allow. A failure does no harm: it
   * is tried again when more was written.
   */
  checkpoint(): FromWriter {
    try {
      this.#db.exec("PRAGMA wal_checkpoint(PASSIVE)");
    } catch {}
    return { kind: "checkpointed" };
  }

  #returnPages(): boolean {
    const before = freePages(this.#db);
    if (before > 0) this.#db.exec(`PRAGMA incremental_vacuum(${PAGES})`);
    // Compared, because a database without auto_vacuum keeps its free pages.
    const hasReturned = freePages(this.#db) < before;
    if (hasReturned) this.#mustShrink = true;
    else if (this.#mustShrink) this.#mustShrink = !this.#shrinkFile();
    return hasReturned;
  }

  /** The file is truncated when the write-ahead log is moved into it. Returns false if a reader prevented it. */
  #shrinkFile(): boolean {
    this.#db.exec(`PRAGMA busy_timeout = ${READER_TIMEOUT_MS}`);
    try {
      return this.#db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.["busy"] === 0;
    } finally {
      this.#db.exec(`PRAGMA busy_timeout = ${this.#busyTimeoutMs}`);
    }
  }
}

/**
 * Enables auto_vacuum on a database that was created without it, by rewriting it
 * once. That needs as much free disk space as the database has; without it the
 * database works as before, and the next start tries again.
 */
export function enableAutoVacuum(db: DatabaseSync): void {
  if (db.prepare("PRAGMA auto_vacuum").get()?.["auto_vacuum"] !== 0) return;
  try {
    db.exec("PRAGMA auto_vacuum = INCREMENTAL; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
  } catch (error) {
    if (primaryCode(error) !== "SQLITE_FULL") throw error;
  }
}

function answer(work: () => boolean): FromWriter {
  try {
    return { kind: "answers", answers: [{ kind: "answered", value: work() }] };
  } catch (error) {
    return { kind: "failed", failure: toFailure(error) };
  }
}

function freePages(db: DatabaseSync): number {
  return Number(db.prepare("PRAGMA freelist_count").get()?.["freelist_count"]);
}
