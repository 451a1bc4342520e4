import type { DatabaseSync } from "node:sqlite";
import { primaryCode, toFailure } from "./storage-error.ts";
import type { FromWriter } from "./thread-messages.ts";

/** So many pages are given back at a time: a few milliseconds that commits wait. */
const PAGES = 256;

/** How long the end of a reclaim waits for readers. They are in the way for a moment only, or for long. */
const PATIENCE_MS = 100;

/**
 * Gives pages that nothing uses back to the system. Lives in the writer thread,
 * outside any transaction.
 */
export class SpaceReclaimer {
  readonly #db: DatabaseSync;
  readonly #busyTimeoutMs: number;
  /** Whether pages were cut off that the file still has. */
  #mustShrink = false;

  constructor(db: DatabaseSync, busyTimeoutMs: number) {
    this.#db = db;
    this.#busyTimeoutMs = busyTimeoutMs;
  }

  /** Answers whether some were given back. */
  reclaim(): FromWriter {
    try {
      return { kind: "answers", answers: [{ kind: "answered", value: this.#giveBack() }] };
    } catch (error) {
      return { kind: "failed", failure: toFailure(error) };
    }
  }

  #giveBack(): boolean {
    const before = freePages(this.#db);
    if (before > 0) this.#db.exec(`PRAGMA incremental_vacuum(${PAGES})`);
    // Compared, because a database that could not be prepared keeps its free pages.
    const hasGiven = freePages(this.#db) < before;
    if (hasGiven) this.#mustShrink = true;
    else if (this.#mustShrink) this.#mustShrink = !this.#shrinkFile();
    return hasGiven;
  }

  /** The file gets shorter only when the write-ahead log is moved into it. False when a reader was in the way. */
  #shrinkFile(): boolean {
    this.#db.exec(`PRAGMA busy_timeout = ${PATIENCE_MS}`);
    try {
      return this.#db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.["busy"] === 0;
    } finally {
      this.#db.exec(`PRAGMA busy_timeout = ${this.#busyTimeoutMs}`);
    }
  }
}

/**
 * Makes a database that was created without it able to give back pages, once, by
 * writing it anew. That takes as much disk space as it has; when there is none,
 * it works as before and the next opening tries again.
 */
export function prepareToShrink(db: DatabaseSync): void {
  if (db.prepare("PRAGMA auto_vacuum").get()?.["auto_vacuum"] !== 0) return;
  try {
    db.exec("PRAGMA auto_vacuum = INCREMENTAL; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
  } catch (error) {
    if (primaryCode(error) !== "SQLITE_FULL") throw error;
  }
}

function freePages(db: DatabaseSync): number {
  return Number(db.prepare("PRAGMA freelist_count").get()?.["freelist_count"]);
}
