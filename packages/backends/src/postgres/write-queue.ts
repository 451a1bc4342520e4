import type { Metrics } from "@convoke/protocol";
import type { CommitResult, CommitStep } from "@convoke/engine";
import type { Connection } from "./connection.ts";
import { ClosedError, toFailure } from "./database-error.ts";
import type { Lane, StepWriter } from "./step-writer.ts";

/** Steps that share a transaction. More would make a caller wait longer than they save. */
const MAX_STEPS = 128;

/**
 * The second connection is used when this many writes wait for the first one, or have waited for so
 * long: a transaction has a cost of its own, and the fewer there are, the less a step costs.
 */
const ENOUGH = 32;
const SLOW_MS = 5;

interface PendingStep {
  readonly kind: "step";
  readonly taskId: string;
  readonly step: CommitStep;
  readonly resolve: (result: CommitResult) => void;
  readonly reject: (error: unknown) => void;
}

interface OtherWrite {
  readonly kind: "other";
  /** Absent: the write concerns any task, so it runs alone. */
  readonly taskId: string | undefined;
  readonly run: (connection: Connection) => Promise<void>;
}

type Write = PendingStep | OtherWrite;

interface Parts {
  readonly lanes: readonly Lane[];
  readonly steps: StepWriter;
  readonly metrics: Metrics | undefined;
}

/**
 * Executes the writes of this process, if there are many on two connections: while one waits for the
 * disk, the other executes the next batch. Writes of the same task keep their order, and a write that
 * concerns any task waits for all before it.
 */
export class WriteQueue {
  readonly #parts: Parts;
  readonly #idle: Lane[];
  /** The tasks of writes that are being executed. */
  readonly #busy = new Set<string>();
  /** How many writes of each task are waiting or being executed. */
  readonly #writes = new Map<string, number>();
  readonly #unfinished = new Set<Promise<unknown>>();
  #isAlone = false;
  #waiting: Write[] = [];
  #isScheduled = false;
  /** Set while writes wait for a batch that is being executed. */
  #slow: NodeJS.Timeout | undefined;
  #isClosed = false;
  #onIdle: (() => void) | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#idle = [...parts.lanes];
  }

  /** Steps that are submitted in the same tick share a transaction. */
  commit(step: CommitStep): Promise<CommitResult> {
    return this.#unfinishedUntil((resolve, reject) => {
      // A copy, because results are found by the step, and the same one may be submitted twice.
      this.#add({ kind: "step", taskId: step.taskId, step: { ...step }, resolve, reject }, reject);
    });
  }

  /** Executes another write in its order. @param taskId absent: it concerns any task */
  write<T>(work: (connection: Connection) => Promise<T>, taskId?: string): Promise<T> {
    return this.#unfinishedUntil((resolve, reject) => {
      const run = (connection: Connection): Promise<void> =>
        work(connection).then(resolve, (error: unknown) => reject(toFailure(error)));
      this.#add({ kind: "other", taskId, run }, reject);
    });
  }

  /** Whether a write of the task is waiting or being executed. */
  hasWrite(taskId: string): boolean {
    return this.#writes.has(taskId);
  }

  /** Resolves when the writes that are waiting or being executed now are stored, or have failed. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#unfinished);
  }

  /** Completes all writes. Later ones reject. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#isIdle) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
  }

  /** A promise that counts as an unfinished write until it is settled. */
  #unfinishedUntil<T>(
    start: (resolve: (value: T) => void, reject: (error: unknown) => void) => void,
  ): Promise<T> {
    const promise = new Promise<T>(start);
    this.#unfinished.add(promise);
    const finish = (): void => void this.#unfinished.delete(promise);
    promise.then(finish, finish);
    return promise;
  }

  get #isIdle(): boolean {
    return this.#waiting.length === 0 && this.#idle.length === this.#parts.lanes.length;
  }

  #add(write: Write, reject: (error: unknown) => void): void {
    if (this.#isClosed) return reject(new ClosedError());
    this.#waiting.push(write);
    this.#count(write.taskId, 1);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#start();
    });
  }

  #count(taskId: string | undefined, change: number): void {
    if (taskId === undefined) return;
    const count = (this.#writes.get(taskId) ?? 0) + change;
    if (count > 0) this.#writes.set(taskId, count);
    else this.#writes.delete(taskId);
  }

  /** @param isSlow whether writes have waited long enough for another connection */
  #start(isSlow = false): void {
    while (this.#idle.length > 0 && this.#waiting.length > 0) {
      const isBusy = this.#idle.length < this.#parts.lanes.length;
      if (isBusy && !isSlow && this.#waiting.length < ENOUGH) return this.#startLater();
      const next = this.#next();
      if (next === undefined) return;
      void this.#run(this.#idle.shift()!, next);
    }
  }

  /** Many tasks write again as soon as they know the result of a batch: that joins the next one. */
  #startAfterTurn(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#start();
    });
  }

  #startLater(): void {
    this.#slow ??= setTimeout(() => {
      this.#slow = undefined;
      this.#start(true);
    }, SLOW_MS);
  }

  /** The next writes that can be executed together: steps, or one other write. */
  #next(): readonly Write[] | undefined {
    if (this.#isAlone) return undefined;
    const blocked = new Set(this.#busy);
    const taken: Write[] = [];
    for (const write of this.#waiting) {
      const { kind, taskId } = write;
      if (taskId === undefined) {
        if (blocked.size === 0 && taken.length === 0) taken.push(write);
        break;
      }
      if (taken.length === MAX_STEPS) break;
      if (blocked.has(taskId)) continue;
      if (kind === "other" && taken.length > 0) blocked.add(taskId);
      else taken.push(write);
      if (kind === "other" && taken[0] === write) break;
    }
    return taken.length === 0 ? undefined : taken;
  }

  async #run(lane: Lane, writes: readonly Write[]): Promise<void> {
    const chosen = new Set(writes);
    this.#waiting = this.#waiting.filter((write) => !chosen.has(write));
    for (const { taskId } of writes) {
      if (taskId === undefined) this.#isAlone = true;
      else this.#busy.add(taskId);
    }
    const [first] = writes;
    await (first?.kind === "other"
      ? first.run(lane.connection)
      : this.#commit(lane, writes as readonly PendingStep[]));
    for (const { taskId } of writes) {
      if (taskId === undefined) this.#isAlone = false;
      else this.#busy.delete(taskId);
      this.#count(taskId, -1);
    }
    // The same lane is used again, so that the other one connects only under load.
    this.#idle.unshift(lane);
    clearTimeout(this.#slow);
    this.#slow = undefined;
    if (writes.length > 1) this.#startAfterTurn();
    else this.#start();
    if (this.#isIdle) this.#onIdle?.();
  }

  async #commit(lane: Lane, pending: readonly PendingStep[]): Promise<void> {
    const { steps, metrics } = this.#parts;
    const startedAt = performance.now();
    const results = await steps.write(
      pending.map(({ step }) => step),
      lane,
    );
    metrics?.observe("commitSeconds", (performance.now() - startedAt) / 1000);
    metrics?.observe("commitSteps", pending.length);
    for (const [index, { resolve, reject }] of pending.entries()) {
      const result = results[index]!;
      if (result instanceof Error) reject(result);
      else {
        if (result.kind === "stale") metrics?.count("staleCommits");
        resolve(result);
      }
    }
  }
}
