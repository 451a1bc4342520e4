import { type CommitResult, type CommitStep, InvalidStepError, type Seq } from "@convoke/engine";
import type { Metrics } from "@convoke/protocol";
import { type Failure, StorageError } from "../storage/storage-error.ts";
import { isDamage, primaryCode, toFailure } from "./storage-error.ts";
import { packBatch, toSentStep } from "./batch-message.ts";
import type { LocalWriter, Written } from "./local-writer.ts";
import type {
  FromWriter,
  OtherWrite,
  SentWrite,
  WriteAnswer,
  WriteResults,
} from "./thread-messages.ts";
import { type StorageWorker, WriterThread } from "./writer-thread.ts";

/**
 * How long a batch is collected while nothing waits for it, if the one before it had at least this many
 * writes: a sync costs more than most steps. A token that arrives a few milliseconds later does not
 * matter; a caller that waits for the first event of its task, or for its end, does not wait for this.
 */
const GATHERING = { writes: 4, ms: 8 };

/** A batch with this many writes is not collected any longer: one more makes them hardly cheaper. */
const ENOUGH = 128;

/** Maximum delay between a commit and its transaction in the database, unless the database is locked. */
const FLUSH_MS = 100;

type Result = CommitResult | WriteResults[keyof WriteResults];

interface Pending {
  /** Only for steps; other writes have no watchers. */
  readonly taskId?: string;
  resolve(result: Result | PromiseLike<Result>): void;
  reject(error: Error): void;
}

type Writes = readonly SentWrite[] | "reclaim" | "purge";

/** What is written together, and the promises it settles. */
interface Batch {
  readonly writes: Writes;
  readonly pending: readonly Pending[];
}

interface Options {
  /** Commits most steps on the event loop. */
  readonly local: LocalWriter;
  /** Starts the writer thread, which commits everything else. */
  readonly start: () => StorageWorker | Promise<StorageWorker>;
  /** Called after each durable step, just before its promise resolves. */
  readonly onCommitted: (taskId: string, head: Seq) => void;
  /** Called once if the writer thread dies, or if `fail` was called. */
  readonly onFatal: (error: Error) => void;
  /** Receives how long each batch took, and how many writes shared it. */
  readonly metrics?: Metrics | undefined;
  /** The error for a database that cannot be read. */
  readonly damaged: (cause: Error) => Error;
}

/**
 * Forms batches of writes and has them committed, on the event loop or by the writer thread. At most
 * one batch is in progress; writes that arrive meanwhile form the next batch, so that more of them
 * share a transaction under load, and the two connections never wait for each other.
 */
export class WriteQueue {
  readonly #options: Options;
  readonly #local: LocalWriter;
  readonly #thread: WriterThread;
  /** Batches before `waiting`. A reclaim and a purge are batches of their own. */
  #earlier: Batch[] = [];
  #waiting: SentWrite[] = [];
  #waitingPending: Pending[] = [];
  #out: readonly Pending[] = [];
  #sentAt = 0;
  /** Whether something waits for some of `waiting`. */
  #isUrgent = false;
  #isScheduled = false;
  /** The timer until which the next batch is collected, if it is. */
  #timer: NodeJS.Timeout | undefined;
  /** Whether the next batch is collected while nothing waits for it. */
  #isGathering = false;
  #failure: Error | undefined;
  /** Why no more writes are accepted. */
  #refusal: Error | undefined;
  #last: Promise<unknown> | undefined;
  /** When what was committed on the event loop is written to the database. */
  #flushTimer: NodeJS.Timeout | undefined;
  #isFlushing = false;
  #isCheckpointing = false;

  constructor(options: Options) {
    this.#options = options;
    this.#local = options.local;
    this.#thread = new WriterThread({
      start: options.start,
      onMessage: (message) => this.#receive(message),
      onEnd: (cause) => this.#die("The storage thread stopped", cause),
    });
  }

  commit(step: CommitStep): Promise<CommitResult> {
    if (this.#refusal !== undefined) return Promise.reject(this.#refusal);
    const committed = new Promise<CommitResult>((resolve, reject) => {
      this.#waiting.push(toSentStep(step));
      if (step.mayWait !== true) this.#isUrgent = true;
      this.#waitingPending.push({ taskId: step.taskId, resolve, reject });
      this.#schedule();
    });
    this.#last = committed;
    return committed;
  }

  write<Kind extends OtherWrite["kind"]>(
    write: Extract<OtherWrite, { readonly kind: Kind }>,
  ): Promise<WriteResults[Kind]> {
    return this.#submit((pending) => {
      this.#waiting.push(write);
      this.#isUrgent = true;
      this.#waitingPending.push(pending);
    });
  }

  /** Returns some unused disk space, after all earlier writes. */
  reclaim(): Promise<boolean> {
    return this.#submit((pending) => this.#enqueueAlone("reclaim", pending));
  }

  /** Overwrites what was deleted, after all earlier writes. */
  async purge(): Promise<void> {
    await this.#submit<boolean>((pending) => this.#enqueueAlone("purge", pending));
  }

  /**
   * Makes the database up to date before it is read, in full or what it has about one task. Returns
   * `undefined` if it is. Rejects if it cannot be written.
   */
  settle(taskId?: string): Promise<void> | undefined {
    if (!this.#local.isBehind(taskId) || this.#local.flush() === undefined) return undefined;
    return this.#settled();
  }

  async #settled(): Promise<void> {
    const failure = await this.#local.settle();
    if (failure !== undefined) throw this.#errorOf(failure);
  }

  /** Rejects further writes, and resolves when all earlier ones are settled. */
  async finish(): Promise<void> {
    this.#refusal ??= new Error("the backend is closed");
    await this.#last?.catch(() => {});
    clearTimeout(this.#flushTimer);
  }

  /** Closes both connections. Call `finish` first. The last one empties the write-ahead log. */
  close(): Promise<void> {
    this.#local.close();
    return this.#thread.close();
  }

  #enqueueAlone(writes: "reclaim" | "purge", pending: Pending): void {
    if (this.#waiting.length > 0) this.#earlier.push(this.#takeWaiting());
    this.#earlier.push({ writes, pending: [pending] });
  }

  #submit<Expected extends Result>(enqueue: (pending: Pending) => void): Promise<Expected> {
    if (this.#refusal !== undefined) return Promise.reject(this.#refusal);
    const submitted = new Promise<Expected>((resolve, reject) => {
      enqueue({ resolve, reject });
      this.#schedule();
    });
    this.#last = submitted;
    return submitted;
  }

  /**
   * Sends after everything that is ready to run has run: a microtask alone would
   * run before code that resumes in the same turn. A batch that is committed on the
   * event loop also takes what the requests of this turn write: no more can be added while
   * it is in progress. If many tasks write, the chunks of their answers wait a little longer, until
   * something waits for a write or there is enough of them; a single writer never waits.
   */
  #schedule(): void {
    if (this.#out.length > 0) return;
    const mayWait = this.#isGathering && !this.#isUrgent && this.#earlier.length === 0;
    if (mayWait && this.#waiting.length < ENOUGH) {
      if (!this.#isScheduled) this.#timer = setTimeout(this.#send, GATHERING.ms);
    } else if (!this.#isScheduled || this.#timer !== undefined) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      if (this.#local.isReady) setImmediate(this.#send);
      else queueMicrotask(() => process.nextTick(this.#send));
    }
    this.#isScheduled = true;
  }

  readonly #send = (): void => {
    this.#isScheduled = false;
    this.#timer = undefined;
    if (!this.#hasMore()) return;
    const { writes, pending } = this.#earlier.shift() ?? this.#takeWaiting();
    this.#isGathering = pending.length >= GATHERING.writes;
    this.#out = pending;
    this.#sentAt = performance.now();
    if (typeof writes === "string") void this.#writeThere(writes);
    else this.#writeHere(writes);
  };

  /** Commits the batch on the event loop, unless the writer thread has to. */
  #writeHere(writes: readonly SentWrite[]): void {
    try {
      const written = this.#local.write(writes);
      if (!(written instanceof Promise)) return this.#wrote(writes, written);
      written.then((result) => this.#wrote(writes, result)).catch((error) => this.#failed(error));
    } catch (error) {
      this.#failed(error);
    }
  }

  #wrote(writes: readonly SentWrite[], written: Written): void {
    if (this.#failure !== undefined) return;
    if (written === undefined) return void this.#writeThere(writes);
    if ("answers" in written) this.#answered(written.answers);
    else this.#rejected(written.failure);
    this.#flushLater();
  }

  #failed(error: unknown): void {
    this.#die("The storage failed", error as Error);
  }

  /** The two connections never have changes at the same time. */
  async #writeThere(writes: Writes): Promise<void> {
    const failure = this.#local.flush() && (await this.#local.settle());
    if (failure !== undefined) return this.#rejected(failure);
    try {
      if (writes === "purge") this.#local.erase();
    } catch (error) {
      return this.#rejected(toFailure(error));
    }
    this.#thread.post(typeof writes === "string" ? writes : packBatch(writes));
  }

  /** After the answers to what was committed are on their way. */
  #flushLater(): void {
    if (!this.#local.isBehind() || this.#isFlushing) return;
    if (this.#local.isFull && !this.#isCheckpointing) {
      this.#isFlushing = true;
      setImmediate(this.#flush);
    } else this.#flushTimer ??= setTimeout(this.#flush, FLUSH_MS);
  }

  readonly #flush = (): void => {
    this.#isFlushing = false;
    clearTimeout(this.#flushTimer);
    this.#flushTimer = undefined;
    if (this.#refusal !== undefined) return;
    const failure = this.#local.flush();
    // The next commit or read reports the failure; the timer only retries.
    if (failure === undefined) this.#checkpointIfDue();
    else if (isDamage(failure.code)) this.#errorOf(failure);
    else this.#flushTimer ??= setTimeout(this.#flush, FLUSH_MS);
  };

  /**
   * Only the writer thread moves the write-ahead log into the database. Nothing should be written
   * meanwhile, because the log is only begun again once all of it was moved.
   */
  #checkpointIfDue(): void {
    if (!this.#local.needsCheckpoint || this.#isCheckpointing) return;
    this.#isCheckpointing = true;
    this.#local.checkpointed();
    this.#thread.post("checkpoint");
  }

  #hasMore(): boolean {
    return this.#waiting.length > 0 || this.#earlier.length > 0;
  }

  #takeWaiting(): Batch {
    const batch = { writes: this.#waiting, pending: this.#waitingPending };
    this.#waiting = [];
    this.#isUrgent = false;
    this.#waitingPending = [];
    return batch;
  }

  #receive(message: FromWriter): void {
    if (message.kind === "checkpointed") {
      this.#isCheckpointing = false;
      return this.#flushLater();
    }
    this.#local.refresh();
    if (message.kind === "failed") return this.#rejected(message.failure);
    this.#local.observeDisk(message.syncMs);
    this.#answered(message.answers);
  }

  #answered(answers: readonly WriteAnswer[]): void {
    const settled = this.#takeOut();
    this.#options.metrics?.observe("commitSeconds", (performance.now() - this.#sentAt) / 1000);
    this.#options.metrics?.observe("commitSteps", settled.length);
    for (let index = 0; index < settled.length; index += 1) {
      this.#settle(settled[index]!, answers[index]!);
    }
    if (this.#hasMore()) this.#schedule();
  }

  #rejected(failure: Failure): void {
    const out = this.#takeOut();
    const error = this.#errorOf(failure);
    for (const pending of out) pending.reject(error);
    if (this.#hasMore()) this.#schedule();
  }

  /** The error for a failure. A database that is damaged fails everything else, too. */
  #errorOf(failure: Failure): Error {
    if (!isDamage(failure.code)) return new StorageError(failure);
    const error = this.#options.damaged(new Error(`${failure.code}: ${failure.message}`));
    this.fail(error);
    return error;
  }

  #takeOut(): readonly Pending[] {
    const out = this.#out;
    this.#out = [];
    return out;
  }

  #settle(pending: Pending, answer: WriteAnswer): void {
    if (typeof answer === "number") {
      this.#options.onCommitted(pending.taskId!, answer);
      pending.resolve({ kind: "committed", head: answer });
    } else if (answer.kind === "rejected") {
      pending.reject(new InvalidStepError(answer.reason));
    } else {
      pending.resolve(answer.kind === "answered" ? answer.value : answer);
    }
  }

  #die(what: string, cause: Error): void {
    const stopped = new Error(`${what}: ${cause.message}.`, { cause });
    this.fail(isDamage(primaryCode(cause)) ? this.#options.damaged(cause) : stopped);
  }

  /** Rejects all writes, now and later, and reports the error. */
  fail(error: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#refusal ??= this.#failure;
    clearTimeout(this.#flushTimer);
    const lost = [this.#out, ...this.#earlier.map(({ pending }) => pending), this.#waitingPending];
    for (const pending of lost.flat()) pending.reject(this.#failure);
    this.#out = [];
    this.#earlier = [];
    this.#takeWaiting();
    this.#options.onFatal(this.#failure);
  }
}
