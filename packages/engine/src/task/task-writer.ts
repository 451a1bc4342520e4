import { randomInt } from "node:crypto";
import {
  type AgentEvent,
  type Message,
  type Task,
  type TaskState,
  isTerminal,
} from "@convoke/protocol";
import type {
  AcceptedMessage,
  Backend,
  CommitResult,
  CommitStep,
  LogPosition,
  NewPush,
  NewTask,
  Seq,
  TaskRecord,
} from "../log/backend.ts";
import { SnapshotPolicy, type TaskSnapshot, applyEntries } from "../log/task-snapshot.ts";
import { EventSerializer, type LogEntry, LogTail } from "../log/log-entry.ts";
import { InvalidStepError } from "../log/check-commit.ts";
import { isStorageFailure } from "../log/storage-failure.ts";
import { isoTime } from "./task-clock.ts";
import { type CurrentStatus, statusAfter } from "./status.ts";
import { sleep } from "@convoke/protocol/internal";

/** How far an agent may run ahead of its last commit. */
const MAX_UNCOMMITTED_EVENTS = 1024;
const MAX_UNCOMMITTED_BYTES = 1024 * 1024;

/** Leaves room for 2^33 epochs below the largest integer of a double. */
const MAX_EPOCH_STEP = 2 ** 20;

/** What an append can change in addition to its events. */
export interface AppendOptions {
  /** Identifies the run that writes. */
  readonly epoch: number;
  readonly create?: NewTask;
  readonly message?: AcceptedMessage;
  /** Whether lists include the task from now on. */
  readonly listed?: boolean;
  /**
   * Retry until the storage works again, because the output of a run must not be
   * lost. Without it the append rejects, and the request fails.
   */
  readonly insist?: boolean;
  /** The new wake time of the task; `null` clears it. */
  readonly wakeAt?: number | null;
  /** A push config sent with the message. */
  readonly push?: NewPush;
  /** Whether this process works on the task from now on, or another one is to claim it. */
  readonly running?: CommitStep["running"] | undefined;
  /** The mailbox entries that the events handle. */
  readonly mailbox?: readonly string[];
}

/** Events that are waiting for one commit. Further events of the same run are added to it. */
interface Pending {
  readonly entries: LogEntry[];
  readonly options: AppendOptions;
  readonly answer: PromiseWithResolvers<CommitResult>;
  status: CurrentStatus;
  bytes: number;
  wakeAt: number | null | undefined;
  running: CommitStep["running"];
}

export interface TaskWriterOptions {
  readonly backend: Backend;
  readonly taskId: string;
  readonly epoch: number;
  readonly status: CurrentStatus;
  readonly listed: boolean;
  /** Message ids and contexts are looked up among the tasks of the task's agent. Default: of all. */
  readonly perAgent?: true;
  /** The wake time of the task. */
  readonly wakeAt?: number | undefined;
  /** Whether the store has recorded that this process works on the task. Default false. */
  readonly isRunning?: boolean;
  /** Absent for a task that is about to be created. */
  readonly snapshot?: TaskSnapshot;
  /** Called when a write failed. `isRetried` says whether it is tried again. */
  readonly onStorageError: (error: unknown, isRetried: boolean) => void;
  /** Called after each write that succeeded, and after one that is not retried any more. */
  readonly onStored: () => void;
  /**
   * Called when the store has refused a step, because another process has written, or because the
   * store has lost what this one wrote or the task itself.
   */
  readonly onStale: () => void;
  /** Called when a step failed that makes this process work on the task, and may be stored nevertheless. */
  readonly onUnsure: () => void;
  /** Called with the final state once the end of the task is stored. */
  readonly onEnded: (state: TaskState) => void;
  /** Called after each commit that has a status, or that adds the task to lists, if they include it. */
  readonly onStatus: (state: TaskState, head: Seq) => void;
}

/**
 * The single writer of one task. Events are checked against the state they will
 * be applied to, committed in order, and only then applied: readers of `task`,
 * `head` and `tail` see only durable events (G1). Events that are appended during
 * a commit are collected for the next one.
 */
export class TaskWriter {
  readonly taskId: string;
  readonly tail = new LogTail();
  #backend: Backend;
  readonly #perAgent: true | undefined;
  #snapshot: TaskSnapshot | undefined;
  #epoch: number;
  /** The epoch of the last step that was stored. */
  #storedEpoch: number;
  #status: CurrentStatus;
  #listed: boolean;
  #wakeAt: number | undefined;
  #nextWake: number | undefined;
  #serializer = new EventSerializer();
  #snapshotPolicy = new SnapshotPolicy();
  #onStorageError: TaskWriterOptions["onStorageError"];
  #onStored: () => void;
  #onStale: () => void;
  #onUnsure: () => void;
  #onEnded: TaskWriterOptions["onEnded"];
  #onStatus: TaskWriterOptions["onStatus"];
  #queue: Pending[] = [];
  #current: Pending | undefined;
  #committing = false;
  #isRunning: boolean;
  #isConfirmed = true;
  /** When this writer last knew what is stored, by `performance.now()`. */
  #verifiedAt = 0;
  #isClosed = false;
  #uncommitted = { events: 0, bytes: 0 };
  #waitingForRoom: (() => void)[] = [];
  #listeners = new Set<() => void>();

  constructor(options: TaskWriterOptions) {
    this.#backend = options.backend;
    this.#perAgent = options.perAgent;
    this.taskId = options.taskId;
    this.#epoch = options.epoch;
    this.#storedEpoch = options.epoch;
    this.#isRunning = options.isRunning ?? false;
    this.#snapshot = options.snapshot;
    this.#status = options.status;
    this.#listed = options.listed;
    this.#wakeAt = options.wakeAt;
    this.#nextWake = options.wakeAt;
    this.#onStorageError = options.onStorageError;
    this.#onStored = options.onStored;
    this.#onStale = options.onStale;
    this.#onUnsure = options.onUnsure;
    this.#onEnded = options.onEnded;
    this.#onStatus = options.onStatus;
  }

  /** The committed task. */
  get task(): Task {
    if (this.#snapshot === undefined) throw new Error(`task ${this.taskId} is not committed yet`);
    return this.#snapshot.task;
  }

  /** The reply, if the agent answered with a single message instead of a task. */
  get reply(): Message | undefined {
    return this.#snapshot?.reply;
  }

  get head(): Seq {
    return this.#snapshot?.head ?? 0;
  }

  /** The approximate size of the committed task in memory, in characters. */
  get size(): number {
    return this.#snapshot?.size ?? 0;
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** The state after everything appended so far, committed or not. */
  get nextState(): TaskState {
    return this.#status.state;
  }

  /** The wake time after everything appended so far. */
  get nextWake(): number | undefined {
    return this.#nextWake;
  }

  /** Settles when everything appended so far is committed or refused; `undefined` if nothing is pending. */
  get settled(): Promise<unknown> | undefined {
    const last = this.#queue.at(-1) ?? this.#current;
    return last?.answer.promise.catch(() => undefined);
  }

  /** Settles when the step that is being stored is committed or refused; `undefined` if there is none. */
  get committing(): Promise<unknown> | undefined {
    return this.#current?.answer.promise.catch(() => undefined);
  }

  /** Whether lists include the task. */
  get listed(): boolean {
    return this.#listed;
  }

  /** The time for a status written now. Status times never go backwards, even if the clock does. */
  statusTime(now: number): string {
    return isoTime(Math.max(now, this.#status.statusAt));
  }

  /** Whether the store has recorded that this process works on the task. */
  get isRunning(): boolean {
    return this.#isRunning && !isTerminal(this.#status.state);
  }

  /**
   * Whether this process has stored something since it claimed the task. Until then, a step of the
   * process before it may still be stored: its transaction began before the claim.
   */
  get isConfirmed(): boolean {
    return this.#isConfirmed;
  }

  /** When what this writer believes to be stored was last known to be true, by `performance.now()`. */
  get verifiedAt(): number {
    return this.#verifiedAt;
  }

  /** @param at when it was still true that nobody else has written */
  verified(at: number): void {
    this.#verifiedAt = Math.max(this.#verifiedAt, at);
  }

  /** The epoch of the event at `head`, if it is known; see `StoredEvent.epoch`. */
  get headEpoch(): number | undefined {
    return this.#snapshot?.epoch;
  }

  /** What this writer believes to be stored. */
  get position(): LogPosition {
    return { head: this.head, epoch: this.#storedEpoch };
  }

  /**
   * Takes over what another process has written: the events after `head`, and the record that was
   * read before them. Runs of this process can no longer write.
   */
  catchUp({ epoch, listed, wakeAt }: TaskRecord, entries: readonly LogEntry[]): void {
    // A run may have an epoch that was never stored, and is then as high as that of the record.
    this.#epoch = Math.max(this.#epoch + 1, epoch);
    this.#storedEpoch = epoch;
    this.#isRunning = false;
    this.#listed = listed;
    this.#wakeAt = wakeAt;
    this.#nextWake = wakeAt;
    if (entries.length > 0) this.#publish(applyEntries(this.#snapshot, entries), entries);
    this.#resetStatus();
  }

  /**
   * Takes over a log without some of the events that this writer has: the store has lost them. Runs of
   * this process can no longer write.
   */
  rewind(record: TaskRecord, snapshot: TaskSnapshot): void {
    this.tail.clear();
    this.#snapshot = snapshot;
    this.#snapshotPolicy = new SnapshotPolicy();
    this.catchUp(record, []);
    this.fence();
    this.#publish(snapshot, []);
  }

  /**
   * Records that this process has claimed the task, with a new epoch, after the given time. Does
   * nothing if the task was claimed again since.
   */
  claimed(epoch: number, at: number): void {
    if (epoch < this.#storedEpoch) return;
    this.verified(at);
    this.#epoch = Math.max(this.#epoch, epoch);
    this.#storedEpoch = epoch;
    this.#isRunning = true;
    this.#isConfirmed = false;
  }

  /** Records that another process has claimed the task. */
  lost(): void {
    this.#isRunning = false;
  }

  /**
   * Prevents all earlier runs from writing, and returns the epoch of the next one. In a storage that
   * processes share, the step to it is random: if the storage loses the events of an epoch, those that
   * are written in their place must not have the same one.
   */
  fence(): number {
    this.#epoch += this.#backend.sharing === undefined ? 1 : randomInt(1, MAX_EPOCH_STEP);
    return this.#epoch;
  }

  /** Prevents all runs from writing and gives up pending retries, because the storage is about to close. */
  close(): void {
    this.fence();
    this.#isClosed = true;
  }

  /** Calls the listener after each commit. Returns a function that removes it. */
  onCommit(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Resolves when the events are durable and applied, or to the refusal. Throws
   * synchronously if the state machine does not allow an event.
   */
  append(events: readonly AgentEvent[], options: AppendOptions): Promise<CommitResult> {
    if (options.epoch < this.#epoch) {
      return Promise.resolve({ kind: "stale", epoch: this.#epoch, head: this.head });
    }
    this.#status = statusAfter(this.#status, events);
    const last = this.#queue.at(-1);
    const pending =
      last !== undefined && joins(last.options, options) ? last : this.#enqueue(options);
    pending.status = this.#status;
    if (options.wakeAt !== undefined) {
      pending.wakeAt = options.wakeAt;
      this.#nextWake = options.wakeAt ?? undefined;
    }
    if (options.running !== undefined) pending.running = options.running;
    for (const event of events) {
      const entry = this.#serializer.entry(event);
      pending.entries.push(entry);
      pending.bytes += entry.json.length;
      this.#uncommitted.bytes += entry.json.length;
    }
    this.#uncommitted.events += events.length;
    this.#schedule();
    return pending.answer.promise;
  }

  #enqueue(options: AppendOptions): Pending {
    const answer = Promise.withResolvers<CommitResult>();
    const status = this.#status;
    const pending: Pending = {
      entries: [],
      options,
      answer,
      status,
      bytes: 0,
      wakeAt: undefined,
      running: undefined,
    };
    this.#queue.push(pending);
    return pending;
  }

  /** Resolves when the agent can continue; `undefined` if it need not wait. */
  room(): Promise<void> | undefined {
    const { events, bytes } = this.#uncommitted;
    if (events < MAX_UNCOMMITTED_EVENTS && bytes < MAX_UNCOMMITTED_BYTES) return undefined;
    return new Promise((resolve) => this.#waitingForRoom.push(resolve));
  }

  /**
   * Starts to commit after everything that is ready to run has run, so that a
   * burst becomes one step. A stream of one chunk per turn of the event loop is
   * not delayed.
   */
  #schedule(): void {
    if (this.#committing) return;
    this.#committing = true;
    queueMicrotask(() => process.nextTick(() => void this.#commitAll()));
  }

  async #commitAll(): Promise<void> {
    while ((this.#current = this.#queue.shift()) !== undefined) {
      await this.#commitNext(this.#current);
    }
    this.#committing = false;
  }

  async #commitNext(pending: Pending): Promise<void> {
    const { entries, bytes, answer } = pending;
    try {
      const committed = await this.#commit(pending);
      if (committed.kind !== "committed") this.#resetStatus();
      // Another writer has stored events, so this one does not know what is stored.
      if (committed.kind === "stale") this.lost();
      answer.resolve(committed);
      if (committed.kind === "stale" || committed.kind === "unknown") this.#onStale();
    } catch (error) {
      this.#resetStatus();
      answer.reject(error);
      if (pending.running === true) this.#onUnsure();
    }
    this.#uncommitted.events -= entries.length;
    this.#uncommitted.bytes -= bytes;
    for (const resolve of this.#waitingForRoom.splice(0)) resolve();
  }

  async #commit(pending: Pending): Promise<CommitResult> {
    const { entries, bytes, options, status, wakeAt, running } = pending;
    let seq = this.head;
    const epoch = this.#backend.sharing === undefined ? undefined : options.epoch;
    for (const entry of entries) entry.at(++seq, epoch);
    const next = applyEntries(this.#snapshot, entries);
    // A reply is read from the log itself: a snapshot would show a task that clients never see.
    const snapshot =
      next.reply === undefined ? this.#snapshotPolicy.due(next.head, bytes, next.task) : undefined;
    const step: CommitStep = {
      taskId: this.taskId,
      epoch: options.epoch,
      after: { head: this.head, epoch: this.#storedEpoch },
      events: entries.map(({ json }) => json),
      ...status,
      listed: options.listed ?? this.#listed,
      ...(options.create && { create: options.create }),
      ...(options.message && { message: options.message }),
      ...(this.#perAgent && { perAgent: true }),
      ...(snapshot && { snapshot }),
      ...(wakeAt !== undefined && { wakeAt }),
      ...(options.push && { push: options.push }),
      ...(running !== undefined && { running }),
      ...(options.mailbox && { mailbox: options.mailbox }),
    };
    const startedAt = performance.now();
    const committed = await (options.insist === true
      ? this.#commitInsisting(step)
      : this.#commitOnce(step));
    if (committed.kind === "committed") {
      this.#onStored();
      this.#isConfirmed = true;
      this.verified(startedAt);
      const isNews =
        step.listed !== this.#listed || next.task.status !== this.#snapshot?.task.status;
      this.#listed = step.listed;
      this.#storedEpoch = step.epoch;
      if (running !== undefined) this.#isRunning = running === true;
      if (wakeAt !== undefined) this.#wakeAt = wakeAt ?? undefined;
      this.#publish(next, entries);
      if (isNews && step.listed) this.#onStatus(next.task.status.state, next.head);
      if (isTerminal(step.state)) this.#onEnded(step.state);
    }
    return committed;
  }

  /** Rejects if the storage fails twice. The second attempt finds out whether the first one was stored nevertheless. */
  async #commitOnce(step: CommitStep): Promise<CommitResult> {
    try {
      return await this.#backend.commit(step);
    } catch (error) {
      if (error instanceof InvalidStepError) throw error;
    }
    try {
      return await this.#backend.commit(step);
    } catch (error) {
      if (isStorageFailure(error)) this.#onStorageError(error, false);
      throw error;
    }
  }

  /** Retries until the storage works again. A step that was stored nevertheless is not written twice. */
  async #commitInsisting(step: CommitStep): Promise<CommitResult> {
    const committed = await keepTrying(() => this.#backend.commit(step), {
      isOver: () => this.#isClosed,
      onError: (error) => this.#onStorageError(error, true),
    });
    // Another process has the task now: nothing waits for the storage here.
    if (committed?.kind !== "committed") this.#onStored();
    return committed ?? { kind: "stale", epoch: this.#epoch, head: this.head };
  }

  /** Snapshot, tail and head change together, so that no reader sees one without the others. */
  #publish(next: TaskSnapshot, entries: readonly LogEntry[]): void {
    this.#snapshot = next;
    this.tail.add(entries);
    for (const listener of this.#listeners) listener();
  }

  /** Resets the status after a refusal, to the committed one and what is still pending. */
  #resetStatus(): void {
    const last = this.#queue.findLast(({ wakeAt }) => wakeAt !== undefined);
    this.#nextWake = last === undefined ? this.#wakeAt : (last.wakeAt ?? undefined);
    if (this.#snapshot === undefined) return;
    const { state, timestamp } = this.#snapshot.task.status;
    const statusAt = timestamp === undefined ? this.#status.statusAt : Date.parse(timestamp);
    this.#status = this.#queue.at(-1)?.status ?? { state, statusAt };
  }
}

/**
 * Output of the same run shares a step. A step that creates a task, accepts a message or handles
 * mailbox entries is one of its own.
 */
function joins(earlier: AppendOptions, later: AppendOptions): boolean {
  return (
    earlier.insist === true &&
    later.insist === true &&
    earlier.epoch === later.epoch &&
    earlier.listed === later.listed &&
    later.mailbox === undefined
  );
}

/** How long to wait before another attempt; doubles up to the longest. */
const WAIT_MS = { first: 50, longest: 2000 };

/**
 * Retries until the storage works again: for writes that must not be lost because
 * a disk was full for a moment. Resolves to `undefined` once `isOver` returns true, or if the
 * storage cannot work again.
 */
export async function keepTrying<T>(
  work: () => Promise<T>,
  until: { readonly isOver: () => boolean; readonly onError: (error: unknown) => void },
): Promise<T | undefined> {
  for (let wait = WAIT_MS.first; ; wait = Math.min(2 * wait, WAIT_MS.longest)) {
    try {
      return await work();
    } catch (error) {
      if (until.isOver()) return undefined;
      until.onError(error);
      if (isStorageFailure(error) && error.isPermanent) return undefined;
      await sleep(wait);
      if (until.isOver()) return undefined;
    }
  }
}
