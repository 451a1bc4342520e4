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
  Committed,
  NewPush,
  NewTask,
  Seq,
  Step,
} from "../log/backend.ts";
import { type Folded, foldMore } from "../log/load-task.ts";
import { EventWriter } from "../log/event-writer.ts";
import { type LogEntry, placed } from "../log/log-entry.ts";
import { LogTail } from "../log/log-tail.ts";
import { isoTime } from "../log/iso-time.ts";
import { keepTrying } from "./keep-trying.ts";
import { SnapshotPolicy } from "../log/snapshot-policy.ts";
import { type Standing, standingAfter } from "./speculative-state.ts";

/** How far an agent may run ahead of its last commit. */
const MAX_UNCOMMITTED_EVENTS = 1024;
const MAX_UNCOMMITTED_BYTES = 1024 * 1024;

/** What an append may carry besides its events. */
export interface AppendOptions {
  /** The run that writes. */
  readonly epoch: number;
  readonly create?: NewTask;
  readonly message?: AcceptedMessage;
  /** Whether lists show the task from here on. */
  readonly listed?: boolean;
  /**
   * What a run writes must not be lost: when the storage fails the step is
   * tried until it succeeds. A request is answered with the failure instead.
   */
  readonly insist?: boolean;
  /** When the task wants to be woken from here on; `null` takes the wish back. */
  readonly wakeAt?: number | null;
  /** A push config that comes with the message. */
  readonly push?: NewPush;
}

/** Events that wait for one commit. What a run writes meanwhile is added to its last. */
interface Pending {
  readonly entries: LogEntry[];
  readonly options: AppendOptions;
  readonly answer: PromiseWithResolvers<Committed>;
  standing: Standing;
  bytes: number;
  wakeAt: number | null | undefined;
}

export interface TaskWriterOptions {
  readonly backend: Backend;
  readonly taskId: string;
  readonly epoch: number;
  readonly standing: Standing;
  readonly listed: boolean;
  /** When the task wants to be woken. */
  readonly wakeAt?: number | undefined;
  /** Absent for a task that is about to be created. */
  readonly folded?: Folded;
  readonly onStorageError: (error: unknown) => void;
  /** Called once, when the end of the task is stored. */
  readonly onEnded: () => void;
}

/**
 * The one writer of one task. Events are checked against the state they will
 * find, committed in order, and only then folded: whatever reads `task`, `head`
 * and `tail` sees nothing that is not durable (G1). While a commit is under
 * way, what is appended meanwhile gathers for the next one.
 */
export class TaskWriter {
  readonly taskId: string;
  readonly tail = new LogTail();
  #backend: Backend;
  #folded: Folded | undefined;
  #epoch: number;
  #standing: Standing;
  #listed: boolean;
  #wakeAt: number | undefined;
  #nextWake: number | undefined;
  #events = new EventWriter();
  #snapshots = new SnapshotPolicy();
  #onStorageError: (error: unknown) => void;
  #onEnded: () => void;
  #queue: Pending[] = [];
  #underWay: Pending | undefined;
  #committing = false;
  #isClosed = false;
  #uncommitted = { events: 0, bytes: 0 };
  #roomWanted: (() => void)[] = [];
  #listeners = new Set<() => void>();

  constructor(options: TaskWriterOptions) {
    this.#backend = options.backend;
    this.taskId = options.taskId;
    this.#epoch = options.epoch;
    this.#folded = options.folded;
    this.#standing = options.standing;
    this.#listed = options.listed;
    this.#wakeAt = options.wakeAt;
    this.#nextWake = options.wakeAt;
    this.#onStorageError = options.onStorageError;
    this.#onEnded = options.onEnded;
  }

  /** The committed task. */
  get task(): Task {
    if (this.#folded === undefined) throw new Error(`task ${this.taskId} is not committed yet`);
    return this.#folded.task;
  }

  /** The whole answer, when it is one message without a task. */
  get reply(): Message | undefined {
    return this.#folded?.reply;
  }

  get head(): Seq {
    return this.#folded?.head ?? 0;
  }

  /** About how much the committed task takes up in memory, in characters. */
  get size(): number {
    return this.#folded?.size ?? 0;
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** The state after everything appended so far, committed or not. */
  get nextState(): TaskState {
    return this.#standing.state;
  }

  /** When the task wants to be woken, after everything appended so far. */
  get nextWake(): number | undefined {
    return this.#nextWake;
  }

  /** Settles when everything appended so far is committed or refused; absent when nothing is under way. */
  get settled(): Promise<unknown> | undefined {
    const last = this.#queue.at(-1) ?? this.#underWay;
    return last?.answer.promise.catch(() => undefined);
  }

  /** Whether lists show the task. */
  get listed(): boolean {
    return this.#listed;
  }

  /** The time for a status written now. Status times never go back, whatever the clock does. */
  statusTime(now: number): string {
    return isoTime(Math.max(now, this.#standing.statusAt));
  }

  /** Ends the right of every earlier run to write, and gives the next one its epoch. */
  fence(): number {
    return ++this.#epoch;
  }

  /** Ends every right to write: what is not committed yet is given up, for there is no storage any more. */
  close(): void {
    this.fence();
    this.#isClosed = true;
  }

  /** Calls back after each commit. Returns how to stop. */
  onCommit(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Resolves when the events are durable and folded, or with the refusal.
   * Throws at once when the state machine forbids an event.
   */
  append(events: readonly AgentEvent[], options: AppendOptions): Promise<Committed> {
    if (options.epoch < this.#epoch) {
      return Promise.resolve({ kind: "stale", epoch: this.#epoch });
    }
    this.#standing = standingAfter(this.#standing, events);
    const last = this.#queue.at(-1);
    const pending =
      last !== undefined && joins(last.options, options) ? last : this.#enqueue(options);
    pending.standing = this.#standing;
    if (options.wakeAt !== undefined) {
      pending.wakeAt = options.wakeAt;
      this.#nextWake = options.wakeAt ?? undefined;
    }
    for (const event of events) {
      const entry = this.#events.entry(event);
      pending.entries.push(entry);
      pending.bytes += entry.json.length;
      this.#uncommitted.bytes += entry.json.length;
    }
    this.#uncommitted.events += events.length;
    this.#schedule();
    return pending.answer.promise;
  }

  #enqueue(options: AppendOptions): Pending {
    const answer = Promise.withResolvers<Committed>();
    const standing = this.#standing;
    const pending = { entries: [], options, answer, standing, bytes: 0, wakeAt: undefined };
    this.#queue.push(pending);
    return pending;
  }

  /** Resolves when the agent may go on; `undefined` while it is not far ahead. */
  room(): Promise<void> | undefined {
    const { events, bytes } = this.#uncommitted;
    if (events < MAX_UNCOMMITTED_EVENTS && bytes < MAX_UNCOMMITTED_BYTES) return undefined;
    return new Promise((resolve) => this.#roomWanted.push(resolve));
  }

  /**
   * Begins to commit when everything that is ready to run has run, so that a
   * burst is one step. A stream of one chunk per turn of the event loop is not
   * held up by it.
   */
  #schedule(): void {
    if (this.#committing) return;
    this.#committing = true;
    queueMicrotask(() => process.nextTick(() => void this.#commitAll()));
  }

  async #commitAll(): Promise<void> {
    while ((this.#underWay = this.#queue.shift()) !== undefined) {
      await this.#commitNext(this.#underWay);
    }
    this.#committing = false;
  }

  async #commitNext(pending: Pending): Promise<void> {
    const { entries, bytes, answer } = pending;
    try {
      const committed = await this.#commit(pending);
      if (committed.kind !== "committed") this.#forgetSpeculation();
      answer.resolve(committed);
    } catch (error) {
      this.#forgetSpeculation();
      answer.reject(error);
    }
    this.#uncommitted.events -= entries.length;
    this.#uncommitted.bytes -= bytes;
    for (const resolve of this.#roomWanted.splice(0)) resolve();
  }

  async #commit({ entries, bytes, options, standing, wakeAt }: Pending): Promise<Committed> {
    let seq = this.head;
    for (const entry of entries) placed(entry, ++seq);
    const folded = foldMore(this.#folded, entries);
    // A reply is read from the log itself: a snapshot would tell of a task that never was.
    const snapshot =
      folded.reply === undefined ? this.#snapshots.due(folded.head, bytes, folded.task) : undefined;
    const step: Step = {
      taskId: this.taskId,
      epoch: options.epoch,
      events: entries.map(({ json }) => json),
      ...standing,
      listed: options.listed ?? this.#listed,
      ...(options.create && { create: options.create }),
      ...(options.message && { message: options.message }),
      ...(snapshot && { snapshot }),
      ...(wakeAt !== undefined && { wakeAt }),
      ...(options.push && { push: options.push }),
    };
    const committed = await (options.insist === true
      ? this.#commitInsisting(step)
      : this.#commitOnce(step));
    if (committed.kind === "committed") {
      this.#listed = step.listed;
      if (wakeAt !== undefined) this.#wakeAt = wakeAt ?? undefined;
      this.#publish(folded, entries);
    }
    return committed;
  }

  /** Fails with the storage, unless the step arrived after all: then its caller must not be told otherwise. */
  async #commitOnce(step: Step): Promise<Committed> {
    try {
      return await this.#backend.commit(step);
    } catch (error) {
      const head = await this.#storedHead();
      const hasArrived = step.events.length > 0 && head === this.head + step.events.length;
      if (hasArrived) return { kind: "committed", head };
      throw error;
    }
  }

  /** Tries until the storage works again; first it looks whether the step arrived after all. */
  async #commitInsisting(step: Step): Promise<Committed> {
    const committed = await keepTrying(
      async (isRetry) => {
        const head = isRetry ? await this.#storedHead() : undefined;
        const hasArrived = head === this.head + step.events.length;
        return hasArrived ? { kind: "committed" as const, head } : this.#backend.commit(step);
      },
      { isOver: () => this.#isClosed, onError: this.#onStorageError },
    );
    return committed ?? { kind: "stale", epoch: this.#epoch };
  }

  async #storedHead(): Promise<Seq | undefined> {
    try {
      return (await this.#backend.tasks.get(this.taskId))?.head;
    } catch {
      return undefined;
    }
  }

  /** Fold, tail and head change together, so that no reader sees one without the others. */
  #publish(folded: Folded, entries: readonly LogEntry[]): void {
    this.#folded = folded;
    this.tail.add(entries);
    for (const listener of this.#listeners) listener();
    if (isTerminal(folded.task.status.state)) this.#onEnded();
  }

  /** What was refused did not happen: the state is the committed one, and what still waits. */
  #forgetSpeculation(): void {
    const wish = this.#queue.findLast(({ wakeAt }) => wakeAt !== undefined);
    this.#nextWake = wish === undefined ? this.#wakeAt : (wish.wakeAt ?? undefined);
    if (this.#folded === undefined) return;
    const { state, timestamp } = this.#folded.task.status;
    const statusAt = timestamp === undefined ? this.#standing.statusAt : Date.parse(timestamp);
    this.#standing = this.#queue.at(-1)?.standing ?? { state, statusAt };
  }
}

/** What one run writes shares a step; what creates or takes a message stands alone, for its own answer. */
function joins(earlier: AppendOptions, later: AppendOptions): boolean {
  return (
    earlier.insist === true &&
    later.insist === true &&
    earlier.epoch === later.epoch &&
    earlier.listed === later.listed
  );
}
