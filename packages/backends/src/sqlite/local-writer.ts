import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { Failure } from "../storage/storage-error.ts";
import { BatchWriter } from "./batch-writer.ts";
import { CommitLog } from "./commit-log.ts";
import { readLogText, toLogText } from "./logged-steps.ts";
import { primaryCode, toFailure } from "./storage-error.ts";
import type { SentWrite, WriteAnswer, WriterSettings } from "./thread-messages.ts";

/** The time that a sync may take on average, for the event loop to wait for it. */
const FAST_MS = 1;

/** A single slow sync counts as this long, so that it does not mean that the disk is slow. */
const MOST_LOSS_MS = 4;
const MOST_CREDIT_MS = 8;

/** What is written to the database at once: more would keep the event loop for too long. */
const MOST_TASKS = 128;
const MOST_LENGTH = 256 * 1024;

/** How much of a limited database is kept free for what is not written yet. */
const SPARE_BYTES = 256 * 1024;

/** How often to retry while another program holds a lock on the database. */
const RETRY_MS = 10;

/** How many pages of the write-ahead log are written before it is moved into the database. */
const CHECKPOINT_PAGES = 4000;

/**
 * About how many pages a flush writes: the ends of all tables and indexes, a part of a page for a new
 * task, those of the row and its index entries for another, and the texts.
 */
const PAGES_PER_FLUSH = 12;
const PAGES_PER_NEW_TASK = 0.25;
const PAGES_PER_OLD_TASK = 3;
const CHARACTERS_PER_PAGE = 3500;

/**
 * How steps are committed. `"auto"` is what servers use: on the event loop, which waits for the disk only
 * if the disk is fast. The others force one path, for tests: always wait for the disk, never wait for it,
 * or leave everything to the writer thread.
 */
export type CommitMode = "auto" | "wait" | "later" | "thread";

/** What became of a batch; `undefined` if the writer thread has to commit it. */
export type Written =
  | { readonly answers: readonly WriteAnswer[] }
  | { readonly failure: Failure }
  | undefined;

interface Options {
  /** A connection of its own, which `close` closes. */
  readonly database: DatabaseSync;
  readonly settings: WriterSettings;
  /** The file of the commit log. */
  readonly logFile: string;
  readonly mode: CommitMode;
}

/**
 * Commits steps on the event loop. A commit is one record of the commit log; the database follows later,
 * with one transaction for many of them. Until then, what they change is in the memory of the
 * `BatchWriter`, and again in the log if the process ends.
 *
 * The writer thread has to commit everything else: other writes than steps, large batches, and what
 * failed here. Before that, and before a read, the database has to be up to date: see `flush`.
 */
export class LocalWriter {
  readonly #db: DatabaseSync;
  readonly #settings: WriterSettings;
  readonly #writer: BatchWriter;
  readonly #log: CommitLog;
  readonly #mode: CommitMode;
  readonly #applied: StatementSync;
  readonly #setApplied: StatementSync;
  readonly #pageCount: StatementSync;
  readonly #pageSize: number;
  /** Grows with each fast sync and shrinks with each slow one, here or in the writer thread. */
  #creditMs = MOST_LOSS_MS;
  /** The number of the last record whose changes are known here. */
  #known: number;
  /** Why the last flush failed. */
  #failure: Failure | undefined;
  /** About how many pages were added to the write-ahead log. */
  #pages = 0;

  /** Puts what a process that was killed left in the log into the database. */
  constructor({ database, settings, logFile, mode }: Options) {
    this.#db = database;
    this.#settings = settings;
    this.#writer = new BatchWriter(database, settings);
    this.#mode = mode;
    this.#applied = database.prepare("SELECT log_id AS id, applied FROM store");
    this.#setApplied = database.prepare("UPDATE store SET applied = ?");
    this.#pageCount = database.prepare("PRAGMA page_count");
    this.#pageSize = Number(database.prepare("PRAGMA page_size").get()?.["page_size"]);
    const { id, applied } = this.#applied.get() as unknown as LogPosition;
    const isSynced = settings.durability === "power";
    this.#log = new CommitLog({ file: logFile, id, applied, isSynced });
    this.#known = applied;
    if (this.#log.isLeft) this.#recover();
    // From now on the event loop must wait neither for another program nor for a checkpoint.
    database.exec("PRAGMA busy_timeout = 0; PRAGMA wal_autocheckpoint = 0");
  }

  /** Whether batches of steps are committed here, if they are not large. */
  get isReady(): boolean {
    return this.#mode !== "thread";
  }

  /** Whether there is as much to write to the database as should be written at once. */
  get isFull(): boolean {
    const { changedTasks, changedLength } = this.#writer.unwritten;
    return changedTasks >= MOST_TASKS || changedLength >= MOST_LENGTH;
  }

  /** Whether it is time to move the write-ahead log into the database. */
  get needsCheckpoint(): boolean {
    return this.#pages >= CHECKPOINT_PAGES;
  }

  /** The write-ahead log was moved, or is about to be. */
  checkpointed(): void {
    this.#pages = 0;
  }

  /** Whether the database does not have everything, or not everything about one task. */
  isBehind(taskId?: string): boolean {
    const { unwritten } = this.#writer;
    return taskId === undefined ? unwritten.changedTasks > 0 : unwritten.hasChanged(taskId);
  }

  /**
   * Commits a batch of steps, one at a time. If it throws or rejects, the steps are in the log, and it is
   * not known what they change: the process has to end, and the next one recovers them.
   */
  write(writes: readonly SentWrite[]): Written | Promise<Written> {
    if (!this.isReady || !this.#hasSpace(writes)) return undefined;
    const at = Date.now();
    const text = toLogText(at, writes);
    if (text === undefined) return undefined;
    const failure = this.#makeRoom(text);
    if (failure !== undefined) return { failure };
    let number: number;
    try {
      number = this.#log.append(text);
      if (!this.#waits) return this.#writeLater(writes, { at, number });
      this.observeDisk(this.#log.sync());
    } catch {
      return this.#giveUp();
    }
    return this.#apply(writes, { at, number });
  }

  async #writeLater(writes: readonly SentWrite[], record: LoggedRecord): Promise<Written> {
    try {
      this.observeDisk(await this.#log.syncLater());
    } catch {
      return this.#giveUp();
    }
    return this.#apply(writes, record);
  }

  /** Whether the event loop waits for the disk. */
  get #waits(): boolean {
    return this.#mode === "auto" ? this.#creditMs > 0 : this.#mode === "wait";
  }

  /** The record may be in the log. The writer thread must not commit its steps unless it is void. */
  #giveUp(): Written {
    const failure = this.flush();
    return failure && { failure };
  }

  #apply(writes: readonly SentWrite[], { at, number }: LoggedRecord): Written {
    const answers = writes.map((write) => this.#writer.write(write, at));
    this.#known = number;
    // An invalid step must not become valid when the log is read, which has no snapshots.
    if (answers.some((answer) => typeof answer === "object" && answer.kind === "rejected"))
      this.flush();
    return { answers };
  }

  /** Call it after the writer thread has committed a batch: cached tasks may be stale. */
  refresh(): void {
    this.#writer.refresh();
  }

  /** Takes into account how long a sync has taken, also one of the writer thread. */
  observeDisk(syncMs: number | undefined): void {
    if (syncMs === undefined) return;
    const credit = this.#creditMs + FAST_MS - Math.min(syncMs, MOST_LOSS_MS);
    this.#creditMs = Math.min(MOST_CREDIT_MS, Math.max(-MOST_CREDIT_MS, credit));
  }

  /** Writes to the database what it does not have yet. Returns why that failed; nothing is lost then. */
  flush(): Failure | undefined {
    if (!this.isBehind() && !this.#log.isBroken) return undefined;
    const isSyncing = this.#known !== this.#log.last && !this.#log.isBroken;
    const isSynced = this.#log.isBroken || (this.#log.isLong && !isSyncing);
    this.#failure = this.#tryFlush(isSynced);
    if (this.#failure?.code === "SQLITE_FULL" && !isSyncing) {
      // The unused part of the log may be all that is missing.
      this.#log.releaseSpace();
      this.#failure = this.#tryFlush(isSynced);
    }
    return this.#failure;
  }

  /** The same, and waits for another program that has locked the database. */
  async settle(): Promise<Failure | undefined> {
    const deadline = performance.now() + this.#settings.busyTimeoutMs;
    for (;;) {
      const failure = this.flush();
      if (failure?.code !== "SQLITE_BUSY" || performance.now() >= deadline) return failure;
      await sleep(RETRY_MS);
    }
  }

  /** Overwrites what is left of earlier commits in the log. The database must be up to date. */
  erase(): void {
    this.#update(true);
    this.#log.erase();
  }

  /** Removes the log if the database has everything. Otherwise the next process recovers it. */
  close(): void {
    let isApplied = this.flush() === undefined;
    try {
      if (isApplied && !this.#log.isEmpty) this.#update(true);
    } catch {
      isApplied = false;
    }
    this.#db.close();
    this.#log.close(isApplied);
  }

  /** Makes sure that the log has space for one more record, and that no failed flush is forgotten. */
  #makeRoom(text: string): Failure | undefined {
    const isFull = this.#log.isFullFor(text);
    if (!isFull && this.#failure === undefined) return undefined;
    const failure = this.flush();
    // A database that is locked does no harm while there is space in the log.
    if (failure !== undefined)
      return isFull || failure.code !== "SQLITE_BUSY" ? failure : undefined;
    if (this.#log.isFullFor(text)) this.#update(true);
    return undefined;
  }

  #tryFlush(isSynced: boolean): Failure | undefined {
    const pages = this.#pagesOfFlush();
    try {
      this.#update(isSynced);
    } catch (error) {
      // A locked database is noticed before anything is changed.
      if (primaryCode(error) !== "SQLITE_BUSY") this.#reload();
      return toFailure(error);
    }
    this.#pages += pages;
    return undefined;
  }

  #pagesOfFlush(): number {
    const { changedTasks, newTasks, changedLength } = this.#writer.unwritten;
    const ofTasks = newTasks * PAGES_PER_NEW_TASK + (changedTasks - newTasks) * PAGES_PER_OLD_TASK;
    return PAGES_PER_FLUSH + ofTasks + changedLength / CHARACTERS_PER_PAGE;
  }

  /**
   * Writes all changes to the database in one transaction.
   *
   * @param isSynced also syncs the database to the disk and restarts the log
   */
  #update(isSynced: boolean): void {
    // A record that is in doubt is void from now on.
    const applied = this.#log.isBroken ? this.#log.last : this.#known;
    this.#transaction(isSynced, () => {
      this.#writer.flush();
      this.#setApplied.run(applied);
    });
    this.#known = applied;
    this.#writer.refresh();
    if (isSynced) this.#log.restart();
  }

  /** Without a sync, a power failure may undo the transaction, but not what is in the log. */
  #transaction(isSynced: boolean, work: () => void): void {
    const mustSync = isSynced && this.#settings.durability === "power";
    this.#db.exec(`PRAGMA synchronous = ${mustSync ? "FULL" : "NORMAL"}; BEGIN IMMEDIATE`);
    try {
      work();
      this.#db.exec("COMMIT");
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      throw error;
    }
  }

  /** Reads the changes again that a failed transaction was to write. */
  #reload(): void {
    this.#writer.reset();
    const { applied } = this.#applied.get() as unknown as LogPosition;
    this.#replay(applied, this.#known);
  }

  #recover(): void {
    this.#replay(this.#known, Infinity);
    this.#update(true);
  }

  #replay(after: number, upTo: number): void {
    for (const { number, text } of this.#log.recordsAfter(after)) {
      if (number > upTo) return;
      const { at, steps } = readLogText(text);
      for (const step of steps) this.#writer.write(step, at);
      this.#known = number;
    }
  }

  /** Whether a database with a limited size has space for everything that is not written yet. */
  #hasSpace(writes: readonly SentWrite[]): boolean {
    const { maxBytes } = this.#settings;
    if (maxBytes === undefined) return true;
    const pages = Number(this.#pageCount.get()?.["page_count"]);
    const unwritten = this.#writer.unwritten.changedLength + lengthOf(writes);
    return pages * this.#pageSize + 2 * unwritten + SPARE_BYTES < maxBytes;
  }
}

/** When a record was written, and its number. */
interface LoggedRecord {
  readonly at: number;
  readonly number: number;
}

interface LogPosition {
  readonly id: string;
  readonly applied: number;
}

function lengthOf(writes: readonly SentWrite[]): number {
  return writes.reduce(
    (length, write) =>
      write.kind === undefined
        ? length + write.body.length + (write.snapshot?.json.length ?? 0)
        : length,
    0,
  );
}
