import type { Worker } from "node:worker_threads";
import type { Committed, Seq, Step } from "@convoke/server/backend";
import { Misuse } from "../judge.ts";
import { packLines } from "./front-coding.ts";
import { StorageError } from "./storage-error.ts";
import type { FromWriter, SentStep, StepAnswer, ToWriter } from "./thread-messages.ts";

/** So many steps in one batch mean that many tasks write, each a little. */
const MANY_STEPS = 4;

/** How long the next batch then gathers: waking the other thread costs more than most steps do. */
const GATHER_MS = 1;

interface Pending {
  readonly taskId: string;
  readonly resolve: (committed: Committed) => void;
  readonly reject: (error: Error) => void;
}

export interface WriterThreadOptions {
  readonly worker: Worker;
  /** Called after each durable step, just before its promise resolves. */
  readonly onCommitted: (taskId: string, head: Seq) => void;
  /** Called once when the thread died. */
  readonly onFatal: (error: Error) => void;
}

/**
 * The main thread's end of the writer thread. At most one batch is out; steps
 * that arrive meanwhile wait and go together, so that the busier it gets the more
 * steps share a transaction.
 *
 * The thread keeps the process alive until `close`: a program that ends while
 * commits are pending would lose them silently.
 */
export class WriterThread {
  readonly #options: WriterThreadOptions;
  readonly #worker: Worker;
  #waiting: SentStep[] = [];
  #waitingPending: Pending[] = [];
  #out: readonly Pending[] = [];
  #isScheduled = false;
  #isBusy = false;
  #failure: Error | undefined;
  #last: Promise<Committed> | undefined;
  #isClosing = false;
  readonly #exited = Promise.withResolvers<void>();

  constructor(options: WriterThreadOptions) {
    this.#options = options;
    this.#worker = options.worker;
    this.#worker.on("message", (message: FromWriter) => this.#receive(message));
    this.#worker.on("error", (error) => this.#failed(error));
    this.#worker.on("exit", (code) => this.#ended(code));
  }

  commit(step: Step): Promise<Committed> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    this.#last = new Promise((resolve, reject) => {
      this.#waiting.push(toSent(step));
      this.#waitingPending.push({ taskId: step.taskId, resolve, reject });
      this.#schedule();
    });
    return this.#last;
  }

  /** Resolves when every step that was committed so far is settled. */
  async drained(): Promise<void> {
    await this.#last?.catch(() => {});
  }

  /** Ends the thread. Comes after `drained`, when nothing is committed any more. */
  close(): Promise<void> {
    this.#isClosing = true;
    this.#post("close");
    return this.#exited.promise;
  }

  /**
   * Sends when everything that is ready to run has run: a microtask alone would
   * come before the steps of code that resumes in this same turn. While many
   * tasks write, it gathers a little longer; one that is alone never waits.
   */
  #schedule(): void {
    if (this.#isScheduled || this.#out.length > 0) return;
    this.#isScheduled = true;
    if (this.#isBusy) setTimeout(this.#send, GATHER_MS);
    else queueMicrotask(() => process.nextTick(this.#send));
  }

  readonly #send = (): void => {
    this.#isScheduled = false;
    if (this.#waiting.length === 0) return;
    const batch = this.#waiting;
    this.#isBusy = batch.length >= MANY_STEPS;
    this.#out = this.#waitingPending;
    this.#waiting = [];
    this.#waitingPending = [];
    this.#post(batch);
  };

  #post(message: ToWriter): void {
    this.#worker.postMessage(message);
  }

  #receive(message: FromWriter): void {
    const settled = this.#out;
    this.#out = [];
    if (message.kind === "answers") {
      for (let index = 0; index < settled.length; index += 1) {
        this.#settle(settled[index]!, message.answers[index]!);
      }
    } else if (message.kind === "failed") {
      const error = new StorageError(message.failure);
      for (const pending of settled) pending.reject(error);
    }
    if (this.#waiting.length > 0) this.#schedule();
  }

  #settle({ taskId, resolve, reject }: Pending, answer: StepAnswer): void {
    if (typeof answer === "number") {
      this.#options.onCommitted(taskId, answer);
      resolve({ kind: "committed", head: answer });
    } else if (answer.kind === "rejected") {
      reject(new Misuse(answer.reason));
    } else {
      resolve(answer);
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
    if (this.#failure !== undefined) return;
    this.#failure = new Error(`The storage thread stopped: ${cause.message}.`, { cause });
    for (const pending of [...this.#out, ...this.#waitingPending]) pending.reject(this.#failure);
    this.#out = [];
    this.#waiting = [];
    this.#waitingPending = [];
    this.#options.onFatal(this.#failure);
  }
}

/**
 * One text instead of many events: cheaper to send, and the shape it is stored
 * in. Names each field, so that nothing else a caller may carry along is sent.
 */
function toSent({
  taskId,
  create,
  epoch,
  events,
  state,
  statusAt,
  listed,
  message,
  snapshot,
  wakeAt,
}: Step): SentStep {
  const sent = {
    taskId,
    epoch,
    count: events.length,
    body: packLines(events),
    state,
    statusAt,
    listed,
  };
  const isPlain = create === undefined && message === undefined && snapshot === undefined;
  if (isPlain && wakeAt === undefined) return sent;
  return {
    ...sent,
    ...(create && {
      create: {
        owner: create.owner,
        contextId: create.contextId,
        agent: create.agent,
        createdAt: create.createdAt,
      },
    }),
    ...(message && { message: { messageId: message.messageId, digest: message.digest } }),
    ...(snapshot && { snapshot: { seq: snapshot.seq, json: snapshot.json } }),
    ...(wakeAt !== undefined && { wakeAt }),
  };
}
