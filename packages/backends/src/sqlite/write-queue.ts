import { type CommitResult, type CommitStep, InvalidStepError, type Seq } from "@convoke/engine";
import type { Metrics } from "@convoke/protocol";
import { type Failure, StorageError } from "../storage/storage-error.ts";
import { isDamage, primaryCode } from "./storage-error.ts";
import { packBatch, toSentStep } from "./batch-message.ts";
import type { LocalWriter } from "./local-writer.ts";
import type {
  FromWriter,
  OtherWrite,
  SentWrite,
  WriteAnswer,
  WriteResults,
} from "./thread-messages.ts";
import { type StorageWorker, WriterThread } from "./writer-thread.ts";

/**
 * How long a batch is collected, by the number of writes in the one before it that are not just
 * output: waking the other thread and syncing the disk cost more than most steps. A single writer
 * never waits.
 */
const GATHERING: readonly { readonly writes: number; readonly ms: number }[] = [
  { writes: 16, ms: 2 },
  { writes: 4, ms: 1 },
];

/**
 * How long a batch is collected while it has only output of running tasks, if the one before it had
 * at least this many writes. A token that arrives a few milliseconds later does not matter; a caller
 * that waits for the first event of its task, or for its end, does not wait for this.
 */
const GATHERING_OUTPUT = { writes: 4, ms: 4 };

/** A batch with this many writes is not collected any longer: one more makes them hardly cheaper. */
const ENOUGH = 128;

type Result = CommitResult | WriteResults[keyof WriteResults];

interface Pending {
  /** Only for steps; other writes have no watchers. */
  readonly taskId?: string;
  resolve(result: Result | PromiseLike<Result>): void;
  reject(error: Error): void;
}

/** What is written together, and the promises it settles. */
interface Batch {
  readonly writes: readonly SentWrite[] | "reclaim" | "purge";
  readonly pending: readonly Pending[];
  /** How many of the writes are not just output of a running task. */
  readonly urgent: number;
}

interface Options {
  /** Commits small batches on the event loop. */
  readonly local: LocalWriter;
  /** Starts the writer thread, which commits all others. */
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
  /** How many of `waiting` are not just output of a running task. */
  #waitingUrgent = 0;
  #isScheduled = false;
  /** How long the scheduled batch is collected, and the timer for it if there is one. */
  #scheduledMs = 0;
  #timer: NodeJS.Timeout | undefined;
  /** How long the next batch is collected, and how long while it has only output. */
  #gatherMs = 0;
  #gatherOutputMs = 0;
  #failure: Error | undefined;
  /** Why no more writes are accepted. */
  #refusal: Error | undefined;
  #last: Promise<unknown> | undefined;

  constructor(options: Options) {
    this.#options = options;
    this.#local = options.local;
    this.#thread = new WriterThread({
      start: options.start,
      onMessage: (message) => this.#receive(message),
      onEnd: (cause) => this.#die(cause),
    });
  }

  commit(step: CommitStep): Promise<CommitResult> {
    if (this.#refusal !== undefined) return Promise.reject(this.#refusal);
    const committed = new Promise<CommitResult>((resolve, reject) => {
      this.#waiting.push(toSentStep(step));
      if (!isOutput(step)) this.#waitingUrgent += 1;
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
      this.#waitingUrgent += 1;
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

  /** Rejects further writes, and resolves when all earlier ones are settled. */
  async finish(): Promise<void> {
    this.#refusal ??= new Error("the backend is closed");
    await this.#last?.catch(() => {});
  }

  /** Closes both connections. Call `finish` first. The last one empties the write-ahead log. */
  close(): Promise<void> {
    this.#local.close();
    return this.#thread.close();
  }

  #enqueueAlone(writes: "reclaim" | "purge", pending: Pending): void {
    if (this.#waiting.length > 0) this.#earlier.push(this.#takeWaiting());
    this.#earlier.push({ writes, pending: [pending], urgent: 1 });
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
   * run before code that resumes in the same turn. A batch that may be committed on the
   * event loop also takes what the requests of this turn write: no more can be added while
   * it is in progress. If many tasks write, it waits a little longer; a single writer never waits.
   * A batch that waits with only output is sent earlier if a write arrives that is more than output,
   * and any batch if it has enough.
   */
  #schedule(): void {
    if (this.#out.length > 0) return;
    const ms = this.#collectMs();
    if (this.#isScheduled && ms >= this.#scheduledMs) return;
    clearTimeout(this.#timer);
    this.#isScheduled = true;
    this.#scheduledMs = ms;
    if (ms > 0) this.#timer = setTimeout(this.#send, ms);
    else if (this.#local.isReady) setImmediate(this.#send);
    else queueMicrotask(() => process.nextTick(this.#send));
  }

  /** How long the batch that waits is collected, from now on. */
  #collectMs(): number {
    if (this.#waiting.length >= ENOUGH) return 0;
    const isUrgent = this.#waitingUrgent > 0 || this.#earlier.length > 0;
    return !isUrgent && this.#gatherOutputMs > 0 ? this.#gatherOutputMs : this.#gatherMs;
  }

  readonly #send = (): void => {
    this.#isScheduled = false;
    if (!this.#hasMore()) return;
    const { writes, pending, urgent } = this.#earlier.shift() ?? this.#takeWaiting();
    this.#gatherMs = GATHERING.find((pace) => urgent >= pace.writes)?.ms ?? 0;
    this.#gatherOutputMs = pending.length >= GATHERING_OUTPUT.writes ? GATHERING_OUTPUT.ms : 0;
    this.#out = pending;
    this.#sentAt = performance.now();
    if (typeof writes === "string") return this.#thread.post(writes);
    const answers = this.#local.write(writes, urgent === 0);
    if (answers === undefined) this.#thread.post(packBatch(writes));
    else this.#answered(answers);
  };

  #hasMore(): boolean {
    return this.#waiting.length > 0 || this.#earlier.length > 0;
  }

  #takeWaiting(): Batch {
    const batch = {
      writes: this.#waiting,
      pending: this.#waitingPending,
      urgent: this.#waitingUrgent,
    };
    this.#waiting = [];
    this.#waitingUrgent = 0;
    this.#waitingPending = [];
    return batch;
  }

  #receive(message: FromWriter): void {
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
    const isDamaged = isDamage(failure.code);
    const error = isDamaged
      ? this.#options.damaged(new Error(`${failure.code}: ${failure.message}`))
      : new StorageError(failure);
    for (const pending of this.#takeOut()) pending.reject(error);
    if (isDamaged) this.fail(error);
    if (this.#hasMore()) this.#schedule();
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

  #die(cause: Error): void {
    const stopped = new Error(`The storage thread stopped: ${cause.message}.`, { cause });
    this.fail(isDamage(primaryCode(cause)) ? this.#options.damaged(cause) : stopped);
  }

  /** Rejects all writes, now and later, and reports the error. */
  fail(error: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#refusal ??= this.#failure;
    const lost = [this.#out, ...this.#earlier.map(({ pending }) => pending), this.#waitingPending];
    for (const pending of lost.flat()) pending.reject(this.#failure);
    this.#out = [];
    this.#earlier = [];
    this.#takeWaiting();
    this.#options.onFatal(this.#failure);
  }
}

/** Whether the step only adds to the log of a running task, such as the chunks of an answer. */
function isOutput({ create, message, state, wakeAt, push }: CommitStep): boolean {
  const isPlain = create === undefined && message === undefined && push === undefined;
  return isPlain && wakeAt === undefined && state === "working";
}
