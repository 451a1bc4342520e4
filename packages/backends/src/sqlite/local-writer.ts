import type { DatabaseSync } from "node:sqlite";
import { BatchWriter, applyBatch } from "./batch-writer.ts";
import type { SentStep, SentWrite, WriteAnswer, WriterSettings } from "./thread-messages.ts";

/** More steps than this, or longer ones, take longer than waking the writer thread. */
const MOST_STEPS = 4;
const MOST_LENGTH = 16 * 1024;

/**
 * How many steps a batch may have on average. If there are more, the writer thread costs little per
 * step, and more requests would wait for the disk.
 */
const MOST_LOAD = 2;

/** How fast the average follows: by this part of the difference. */
const LOAD_WEIGHT = 1 / 8;

/** The time that a commit may take on average, for the event loop to wait for it. */
const FAST_MS = 1;

/** A single slow commit counts as this long, so that it does not mean that the disk is slow. */
const MOST_LOSS_MS = 4;
const MOST_CREDIT_MS = 8;

/**
 * How many steps are written here before the writer thread writes one: only its connection moves the
 * write-ahead log into the database, which a step enlarges by about eleven pages.
 */
const STEPS_PER_CHECKPOINT = 100;

/**
 * Output that follows other output within this time is left to the writer thread: while it commits,
 * what arrives joins the next batch, and here each chunk of a fast answer would be a commit of its own.
 */
const STEADY_MS = 5;

/** Which batches are committed on the event loop; tests demand one way. */
export type CommitsHere = "alone" | "always" | "never";

/**
 * Commits small batches on the event loop. While few steps are written, waking the writer thread and
 * being woken by it costs more than the commit. All else is left to the writer thread: batches under
 * load, large ones, steady output, writes other than steps, everything while the disk is slow, and what
 * failed here.
 */
export class LocalWriter {
  readonly #db: DatabaseSync;
  readonly #writer: BatchWriter;
  readonly #commitsHere: CommitsHere;
  /** The average number of steps in a batch. */
  #load = 1;
  /** Grows with each fast commit and shrinks with each slow one, here or in the writer thread. */
  #creditMs = MOST_LOSS_MS;
  #stepsSinceCheckpoint = 0;
  #outputAt = -Infinity;

  /** @param db a connection of its own, which `close` closes */
  constructor(db: DatabaseSync, settings: WriterSettings, commitsHere: CommitsHere) {
    // The event loop must wait neither for another program nor for a checkpoint.
    db.exec("PRAGMA busy_timeout = 0; PRAGMA wal_autocheckpoint = 0");
    this.#db = db;
    this.#writer = new BatchWriter(db, settings);
    this.#commitsHere = commitsHere;
  }

  /** Whether the next batch may be committed here, if it is small. */
  get isReady(): boolean {
    if (this.#commitsHere !== "alone") return this.#commitsHere === "always";
    return this.#creditMs > 0 && this.#load <= MOST_LOAD;
  }

  /**
   * Commits a batch and returns its answers. Returns `undefined` if the writer thread has to do it.
   *
   * @param isOutput whether the batch has nothing but output of running tasks
   */
  write(writes: readonly SentWrite[], isOutput: boolean): readonly WriteAnswer[] | undefined {
    this.#load += (writes.length - this.#load) * LOAD_WEIGHT;
    const isSteady = isOutput && this.#followsOutput();
    if (!this.#accepts(writes, isSteady)) {
      this.#stepsSinceCheckpoint = 0;
      return undefined;
    }
    const result = applyBatch(this.#db, this.#writer, writes);
    // Rolled back: the writer thread waits for other programs, and reports what is wrong with the disk.
    if (result.kind !== "answers") return undefined;
    this.#stepsSinceCheckpoint += writes.length;
    this.observeDisk(result.syncMs);
    return result.answers;
  }

  /** Takes into account how long a commit has taken, also one of the writer thread. */
  observeDisk(syncMs: number | undefined): void {
    if (syncMs === undefined) return;
    const credit = this.#creditMs + FAST_MS - Math.min(syncMs, MOST_LOSS_MS);
    this.#creditMs = Math.min(MOST_CREDIT_MS, Math.max(-MOST_CREDIT_MS, credit));
  }

  close(): void {
    this.#db.close();
  }

  #accepts(writes: readonly SentWrite[], isSteady: boolean): boolean {
    if (!this.isReady || this.#stepsSinceCheckpoint >= STEPS_PER_CHECKPOINT) return false;
    if (!writes.every(isStep)) return false;
    return this.#commitsHere === "always" || (!isSteady && isSmall(writes));
  }

  #followsOutput(): boolean {
    const now = performance.now();
    const follows = now - this.#outputAt < STEADY_MS;
    this.#outputAt = now;
    return follows;
  }
}

function isStep(write: SentWrite): write is SentStep {
  return write.kind === undefined;
}

function isSmall(steps: readonly SentStep[]): boolean {
  if (steps.length > MOST_STEPS) return false;
  return steps.reduce((length, step) => length + lengthOf(step), 0) <= MOST_LENGTH;
}

function lengthOf({ body, snapshot, push }: SentStep): number {
  return body.length + (snapshot?.json.length ?? 0) + (push?.config.length ?? 0);
}
