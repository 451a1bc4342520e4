import { randomInt } from "node:crypto";
import {
  type AgentEvent,
  type Message,
  type Task,
  type TaskState,
  isTerminal,
} from "@convoke/protocol";
import type {
  Backend,
  CommitResult,
  CommitStep,
  LogPosition,
  Seq,
  TaskRecord,
} from "../log/backend.ts";
import { SnapshotPolicy, type TaskSnapshot, applyEntries } from "../log/task-snapshot.ts";
import type { TaskFiles } from "../files/task-files.ts";
import { EventSerializer, LogEntry, LogTail } from "../log/log-entry.ts";
import { isoTime } from "./task-clock.ts";
import { type CurrentStatus, statusAfter } from "./status.ts";
import { CommitTimer } from "./commit-timer.ts";
import { keepTrying, tryTwice } from "./keep-trying.ts";
import { type AppendOptions, type PendingStep, PendingSteps } from "./pending-steps.ts";

/** Leaves room for 2^33 epochs below the largest integer of a double. */
const MAX_EPOCH_STEP = 2 ** 20;

/** A step for the store, and the snapshot after it. */
interface Prepared {
  readonly step: CommitStep;
  readonly next: TaskSnapshot;
}

/** A step that is stored. */
interface Stored extends Prepared {
  /** When it was sent to the store, by `performance.now()`. */
  readonly sentAt: number;
}

const NO_LISTENERS: readonly (() => void)[] = [];

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

export interface TaskWriterOptions {
  readonly backend: Backend;
  /** Keeps large files outside of the log. Default: they stay in it. */
  readonly files?: TaskFiles;
  readonly taskId: string;
  readonly owner: string;
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
  readonly hooks: TaskWriterHooks;
}

/** What writers report. All writers of an engine share one object, because each task has a writer. */
export interface TaskWriterHooks {
  /** Called when a write failed. `isRetried` says whether it is tried again. */
  readonly onStorageError: (writer: TaskWriter, error: unknown, isRetried: boolean) => void;
  /** Called after each write that succeeded, and after one that is not retried any more. */
  readonly onStored: (writer: TaskWriter) => void;
  /**
   * Called when the store has refused a step, because another process has written, or because the
   * store has lost what this one wrote or the task itself.
   */
  readonly onStale: (writer: TaskWriter) => void;
  /** Called with the final state once the end of the task is stored. */
  readonly onEnded: (writer: TaskWriter, state: TaskState) => void;
  /** Called after each commit that has a status, or that adds the task to lists, if they include it. */
  readonly onStatus: (writer: TaskWriter, state: TaskState, head: Seq) => void;
}

/**
 * The single writer of one task. Events are checked against the state they will
 * be applied to, committed in order, and only then applied: readers of `task`,
 * `head` and `tail` see only durable events (G1). Events that are appended during
 * a commit are collected for the next one.
 */
export class TaskWriter {
  readonly taskId: string;
  readonly owner: string;
  readonly tail = new LogTail();
  #backend: Backend;
  readonly #files: TaskFiles | undefined;
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
  readonly #hooks: TaskWriterHooks;
  readonly #steps = new PendingSteps();
  #committing = false;
  #isRunning: boolean;
  #isConfirmed = true;
  /** When this writer last knew what is stored, by `performance.now()`. */
  #verifiedAt = 0;
  #isClosed = false;
  readonly #timer = new CommitTimer(this);
  /** Whether the last event that was appended is a chunk of an answer. */
  #isChunkLast = false;
  /** Replaced, never changed. A list, because a task has one or none: a set costs more to fill and empty. */
  #listeners = NO_LISTENERS;

  constructor(options: TaskWriterOptions) {
    this.#backend = options.backend;
    this.#files = options.files;
    this.#perAgent = options.perAgent;
    this.taskId = options.taskId;
    this.owner = options.owner;
    this.#epoch = options.epoch;
    this.#storedEpoch = options.epoch;
    this.#isRunning = options.isRunning ?? false;
    this.#snapshot = options.snapshot;
    this.#status = options.status;
    this.#listed = options.listed;
    this.#wakeAt = options.wakeAt;
    this.#nextWake = options.wakeAt;
    this.#hooks = options.hooks;
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

  /** The head after everything appended so far. */
  get nextHead(): Seq {
    return this.head + this.#steps.events;
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

  /** Whether the end of the task is stored. Nothing is stored after it. */
  get hasEnded(): boolean {
    return this.#snapshot !== undefined && isTerminal(this.#snapshot.task.status.state);
  }

  /** The wake time after everything appended so far. */
  get nextWake(): number | undefined {
    return this.#nextWake;
  }

  /** Settles when everything appended so far is committed or refused; `undefined` if nothing is pending. */
  get settled(): Promise<unknown> | undefined {
    return this.#steps.settled;
  }

  /** Settles when the step that is being stored is committed or refused; `undefined` if there is none. */
  get committing(): Promise<unknown> | undefined {
    return this.#steps.committing;
  }

  /** Whether lists include the task. */
  get listed(): boolean {
    return this.#listed;
  }

  /** When the last status was written, in milliseconds since the epoch. */
  get statusAt(): number {
    return this.#status.statusAt;
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
    this.#listeners = [...this.#listeners, listener];
    return () => {
      this.#listeners = this.#listeners.filter((one) => one !== listener);
    };
  }

  /**
   * Resolves when the events are durable and applied, or to the refusal. Throws
   * synchronously if the state machine does not allow an event.
   */
  append(events: readonly AgentEvent[], options: AppendOptions): Promise<CommitResult> {
    if (options.epoch < this.#epoch) {
      return Promise.resolve(this.#refusal());
    }
    this.#status = statusAfter(this.#status, events);
    const step = this.#steps.stepFor(options, this.#status);
    if (options.wakeAt !== undefined) this.#nextWake = options.wakeAt ?? undefined;
    for (const event of events) {
      // It is serialized when its files are stored: before, it may be very large.
      const isUnstored = this.#files?.isUnstored(this.taskId, event) === true;
      if (isUnstored) this.#steps.addUnstored(step, new LogEntry(event, ""));
      else this.#steps.add(step, this.#serializer.entry(event));
    }
    this.#isChunkLast = events.at(-1)?.kind === "artifact-update";
    if (!this.#committing) this.#timer.start(this.#isChunkLast);
    else if (!this.#isChunkLast) this.#timer.hurry();
    this.#committing = true;
    return step.answer.promise;
  }

  /** Resolves when the agent can continue; `undefined` if it need not wait. */
  room(): Promise<void> | undefined {
    if (!this.#steps.isFull) return undefined;
    this.hurry();
    return this.#steps.room();
  }

  /** Commits what is being gathered, because something waits for it. */
  hurry(): void {
    this.#timer.hurry();
  }

  /** Commits what was appended, in order, unless chunks wait for more of them. Called by the timer only. */
  async commitAll(): Promise<void> {
    let pending: PendingStep | undefined;
    while ((pending = this.#steps.next()) !== undefined) {
      const { answer } = pending;
      try {
        let committed = this.#orphaned(pending);
        if (pending.unstored.length > 0) committed ??= await this.#storeFiles(pending);
        if (committed === undefined) {
          const { step, next } = this.#prepare(pending);
          const sentAt = performance.now();
          this.#timer.sent(sentAt);
          try {
            committed = await this.#backend.commit(step);
          } catch (error) {
            committed = await this.#commitAgain(step, pending.options, error);
          }
          if (committed.kind === "committed") this.#committed(pending, { step, next, sentAt });
        }
        if (committed.kind !== "committed") this.#resetStatus();
        // Another writer has stored events, so this one does not know what is stored.
        if (committed.kind === "stale") this.lost();
        answer.resolve(committed);
        if (committed.kind === "stale" || committed.kind === "unknown") this.#hooks.onStale(this);
      } catch (error) {
        this.#resetStatus();
        answer.reject(error);
      }
      this.#steps.done(pending);
      if (this.#isChunkLast && this.#steps.waiting === 1 && this.#timer.pauses()) return;
    }
    this.#committing = false;
  }

  /** The refusal of output whose task was not created, because its message is a duplicate or the storage failed. */
  #orphaned({ options }: PendingStep): CommitResult | undefined {
    if (this.#snapshot !== undefined || options.create !== undefined) return undefined;
    return { kind: "unknown" };
  }

  /**
   * Stores large files before the step that names them, so that no event names a file that is not
   * there. Resolves to a refusal if the storage is about to close.
   */
  async #storeFiles({
    entries,
    unstored,
    options,
  }: PendingStep): Promise<CommitResult | undefined> {
    for (const place of unstored) {
      const { event } = entries[place]!;
      const store = (): Promise<AgentEvent> => this.#files!.store(this.taskId, event);
      const stored = await (options.insist === true ? this.#insist(store) : this.#twice(store));
      if (stored === undefined) return this.#refusal();
      entries[place] = this.#serializer.entry(stored);
    }
  }

  /** The step for the store, and the snapshot after it. */
  #prepare(pending: PendingStep): Prepared {
    const { entries, options, status, wakeAt, running } = pending;
    const bytes = entries.reduce((sum, { json }) => sum + json.length, 0);
    let seq = this.head;
    const epoch = this.#backend.sharing === undefined ? undefined : options.epoch;
    for (const entry of entries) entry.at(++seq, epoch);
    const next = applyEntries(this.#snapshot, entries);
    // A reply is read from the log itself: a snapshot would show a task that clients never see.
    const snapshot =
      next.reply === undefined ? this.#snapshotPolicy.due(next.head, bytes, next.task) : undefined;
    // Fields are set one by one, because a spread of each would cost more than the rest.
    const step: Mutable<CommitStep> = {
      taskId: this.taskId,
      epoch: options.epoch,
      after: { head: this.head, epoch: this.#storedEpoch },
      events: entries.map(({ json }) => json),
      state: status.state,
      statusAt: status.statusAt,
      listed: options.listed ?? this.#listed,
    };
    if (options.create !== undefined) step.create = options.create;
    if (options.message !== undefined) step.message = options.message;
    if (this.#perAgent !== undefined) step.perAgent = this.#perAgent;
    if (snapshot !== undefined) step.snapshot = snapshot;
    if (wakeAt !== undefined) step.wakeAt = wakeAt;
    if (options.push !== undefined) step.push = options.push;
    if (running !== undefined) step.running = running;
    if (options.mailbox !== undefined) step.mailbox = options.mailbox;
    const areChunks = entries.length > 0 && entries.every(isChunk);
    if (areChunks && !this.#timer.isHurried) step.mayWait = true;
    return { step, next };
  }

  /** Applies what is stored, and notifies readers. */
  #committed({ entries, wakeAt, running }: PendingStep, { step, next, sentAt }: Stored): void {
    this.#hooks.onStored(this);
    this.#isConfirmed = true;
    this.verified(sentAt);
    const isNews = step.listed !== this.#listed || next.task.status !== this.#snapshot?.task.status;
    this.#listed = step.listed;
    this.#storedEpoch = step.epoch;
    if (running !== undefined) this.#isRunning = running === true;
    if (wakeAt !== undefined) this.#wakeAt = wakeAt ?? undefined;
    this.#publish(next, entries);
    if (isNews && step.listed) this.#hooks.onStatus(this, next.task.status.state, next.head);
    if (isTerminal(step.state)) this.#hooks.onEnded(this, step.state);
  }

  /**
   * Repeats a step that failed. The output of a run is repeated until the storage works again, any
   * other step once, which finds out whether the first attempt was stored nevertheless.
   */
  async #commitAgain(
    step: CommitStep,
    { insist }: AppendOptions,
    error: unknown,
  ): Promise<CommitResult> {
    let first: Promise<never> | undefined = Promise.reject(error as Error);
    const commit = (): Promise<CommitResult> => {
      const result = first ?? this.#backend.commit(step);
      first = undefined;
      return result;
    };
    if (insist !== true) return this.#twice(commit);
    const committed = await this.#insist(commit);
    // Another process has the task now: nothing waits for the storage here.
    if (committed?.kind !== "committed") this.#hooks.onStored(this);
    return committed ?? this.#refusal();
  }

  /** Retries until the storage works again. Resolves to `undefined` if it is about to close. */
  #insist<T>(work: () => Promise<T>): Promise<T | undefined> {
    return keepTrying(work, {
      isOver: () => this.#isClosed,
      onError: (error) => this.#hooks.onStorageError(this, error, true),
    });
  }

  #twice<T>(work: () => Promise<T>): Promise<T> {
    return tryTwice(work, (error) => this.#hooks.onStorageError(this, error, false));
  }

  #refusal(): CommitResult {
    return { kind: "stale", epoch: this.#epoch, head: this.head };
  }

  /** Snapshot, tail and head change together, so that no reader sees one without the others. */
  #publish(next: TaskSnapshot, entries: readonly LogEntry[]): void {
    this.#snapshot = next;
    this.tail.add(entries);
    for (const listener of this.#listeners) listener();
  }

  /** Resets the status after a refusal, to the committed one and what is still pending. */
  #resetStatus(): void {
    const { wakeAt } = this.#steps;
    this.#nextWake = wakeAt === undefined ? this.#wakeAt : (wakeAt ?? undefined);
    if (this.#snapshot === undefined) return;
    const { state, timestamp } = this.#snapshot.task.status;
    const statusAt = timestamp === undefined ? this.#status.statusAt : Date.parse(timestamp);
    this.#status = this.#steps.status ?? { state, statusAt };
  }
}

/** Whether the entry is a part of an answer, which no one waits for: more will follow. */
function isChunk({ event }: LogEntry): boolean {
  return event.kind === "artifact-update";
}
