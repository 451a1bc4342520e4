import type { EventEmitter } from "node:events";
import { type CommitResult, type CommitStep, InvalidStepError, type Seq } from "@convoke/engine";
import type { Metrics } from "@convoke/protocol";
import { StorageError } from "../storage/storage-error.ts";
import { isDamage } from "./storage-error.ts";
import type {
  FromWriter,
  OtherWrite,
  SentStep,
  SentWrite,
  ToWriter,
  WriteAnswer,
  WriteResults,
} from "./thread-messages.ts";
import { packLines } from "../storage/front-coding.ts";

/** A batch with this many steps means that many tasks write concurrently. */
const MANY_STEPS = 4;

/** How long the next batch is then collected: waking the other thread costs more than most steps. */
const GATHER_MS = 1;

type Result = CommitResult | WriteResults[keyof WriteResults];

interface Pending {
  /** Only for steps; other writes have no watchers. */
  readonly taskId?: string;
  resolve(result: Result | PromiseLike<Result>): void;
  reject(error: Error): void;
}

/** A message to the writer thread, and the promises it settles. */
interface Batch {
  readonly message: readonly SentWrite[] | "reclaim";
  readonly pending: readonly Pending[];
}

/** The part of a worker thread that is used, so that a bundle can do without one. */
export interface StorageWorker extends EventEmitter {
  postMessage(message: ToWriter): void;
  terminate(): Promise<unknown>;
}

export interface WriterThreadOptions {
  readonly worker: StorageWorker;
  /** Called after each durable step, just before its promise resolves. */
  readonly onCommitted: (taskId: string, head: Seq) => void;
  /** Called once if the thread dies, or if `fail` was called. */
  readonly onFatal: (error: Error) => void;
  /** Receives how long each batch took, and how many writes shared it. */
  readonly metrics?: Metrics | undefined;
  /** The error for a database that cannot be read. */
  readonly damaged: (cause: Error) => Error;
}

/**
 * Sends writes to the writer thread. At most one batch is in progress; writes that
 * arrive meanwhile form the next batch, so that more of them share a transaction
 * under load.
 *
 * The thread keeps the process alive until `close`: a program that ends while
 * commits are pending would lose them silently.
 */
export class WriterThread {
  readonly #options: WriterThreadOptions;
  readonly #worker: StorageWorker;
  /** Batches before `waiting`. A reclaim is a batch of its own. */
  #earlier: Batch[] = [];
  #waiting: SentWrite[] = [];
  #waitingPending: Pending[] = [];
  #out: readonly Pending[] = [];
  #sentAt = 0;
  #isScheduled = false;
  #isBusy = false;
  #failure: Error | undefined;
  /** Why no more writes are accepted. */
  #refusal: Error | undefined;
  #last: Promise<unknown> | undefined;
  #isClosing = false;
  readonly #exited = Promise.withResolvers<void>();

  constructor(options: WriterThreadOptions) {
    this.#options = options;
    this.#worker = options.worker;
    this.#worker.on("message", (message: FromWriter) => this.#receive(message));
    this.#worker.on("error", (error) => this.#failed(error));
    this.#worker.on("exit", (code) => this.#ended(code));
  }

  commit(step: CommitStep): Promise<CommitResult> {
    if (this.#refusal !== undefined) return Promise.reject(this.#refusal);
    const committed = new Promise<CommitResult>((resolve, reject) => {
      this.#waiting.push(toSent(step));
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
      this.#waitingPending.push(pending);
    });
  }

  /** Returns some unused disk space, after all earlier writes. */
  reclaim(): Promise<boolean> {
    return this.#submit((pending) => {
      if (this.#waiting.length > 0) this.#earlier.push(this.#takeWaiting());
      this.#earlier.push({ message: "reclaim", pending: [pending] });
    });
  }

  /** Rejects further writes, and resolves when all earlier ones are settled. */
  async finish(): Promise<void> {
    this.#refusal ??= new Error("the backend is closed");
    await this.#last?.catch(() => {});
  }

  /** Ends the thread. Call `finish` first. */
  close(): Promise<void> {
    this.#isClosing = true;
    this.#post("close");
    return this.#exited.promise;
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
   * run before code that resumes in the same turn. If many tasks write, it waits a
   * little longer; a single writer never waits.
   */
  #schedule(): void {
    if (this.#isScheduled || this.#out.length > 0) return;
    this.#isScheduled = true;
    if (this.#isBusy) setTimeout(this.#send, GATHER_MS);
    else queueMicrotask(() => process.nextTick(this.#send));
  }

  readonly #send = (): void => {
    this.#isScheduled = false;
    if (!this.#hasMore()) return;
    const { message, pending } = this.#earlier.shift() ?? this.#takeWaiting();
    this.#isBusy = pending.length >= MANY_STEPS;
    this.#out = pending;
    this.#sentAt = performance.now();
    this.#post(message);
  };

  #hasMore(): boolean {
    return this.#waiting.length > 0 || this.#earlier.length > 0;
  }

  #takeWaiting(): Batch {
    const batch = { message: this.#waiting, pending: this.#waitingPending };
    this.#waiting = [];
    this.#waitingPending = [];
    return batch;
  }

  #post(message: ToWriter): void {
    this.#worker.postMessage(message);
  }

  #receive(message: FromWriter): void {
    const settled = this.#out;
    this.#out = [];
    if (message.kind === "answers") {
      this.#options.metrics?.observe("commitSeconds", (performance.now() - this.#sentAt) / 1000);
      this.#options.metrics?.observe("commitSteps", settled.length);
      for (let index = 0; index < settled.length; index += 1) {
        this.#settle(settled[index]!, message.answers[index]!);
      }
    } else if (message.kind === "failed") {
      const { failure } = message;
      const isDamaged = isDamage(failure.code);
      const error = isDamaged
        ? this.#options.damaged(new Error(`${failure.code}: ${failure.message}`))
        : new StorageError(failure);
      for (const pending of settled) pending.reject(error);
      if (isDamaged) this.fail(error);
    }
    if (this.#hasMore()) this.#schedule();
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

  #failed(error: Error): void {
    if (this.#isClosing) this.#exited.reject(error);
    else this.#die(error);
  }

  #ended(code: number): void {
    if (!this.#isClosing) this.#die(new Error(`it exited with code ${code}`));
    this.#exited.resolve();
  }

  #die(cause: Error): void {
    this.fail(new Error(`The storage thread stopped: ${cause.message}.`, { cause }));
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

/**
 * Joins the events into one text, which is cheaper to send and the stored format.
 * Copies each field, so that no additional properties of the caller are sent.
 */
function toSent({
  taskId,
  create,
  perAgent,
  epoch,
  after,
  events,
  state,
  statusAt,
  listed,
  message,
  snapshot,
  wakeAt,
  push,
}: CommitStep): SentStep {
  const sent = {
    taskId,
    epoch,
    count: events.length,
    body: packLines(events),
    state,
    statusAt,
    listed,
    ...(after && { after: { head: after.head, epoch: after.epoch } }),
  };
  const isPlain = create === undefined && message === undefined && snapshot === undefined;
  if (isPlain && wakeAt === undefined && push === undefined) return sent;
  return {
    ...sent,
    ...(create && {
      create: {
        owner: create.owner,
        contextId: create.contextId,
        agent: create.agent,
        ...(create.agentId !== undefined && { agentId: create.agentId }),
        createdAt: create.createdAt,
        ...(create.unlessForgotten && { unlessForgotten: true }),
      },
    }),
    ...(perAgent && { perAgent }),
    ...(message && { message: { messageId: message.messageId, digest: message.digest } }),
    ...(snapshot && { snapshot: { seq: snapshot.seq, json: snapshot.json } }),
    ...(wakeAt !== undefined && { wakeAt }),
    ...(push && { push: { id: push.id, config: push.config, cursor: push.cursor } }),
  };
}
