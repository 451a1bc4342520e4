import type { TaskState } from "@convoke/protocol";
import type { NewPush, PushStore } from "./push-store.ts";
import type { RetentionStore } from "./retention-store.ts";

export type * from "./push-store.ts";
export type * from "./retention-store.ts";

/** An event's place in its task's log, from 1. */
export type Seq = number;

/**
 * Where tasks live. Memory, SQLite and whatever comes later pass the same
 * contract suite (`describeBackend` in `./testing`).
 */
export interface Backend {
  /**
   * Applies a step, all or nothing, and resolves when it is durable. A step
   * that may not be applied is answered with a refusal, a duplicate before all
   * others. A rejection means that the step is a mistake (a state that moves
   * back, a task created twice), or that the storage itself failed and the step
   * must be assumed lost until the log was read again.
   */
  commit(step: Step): Promise<Committed>;

  /**
   * The events after `after`, oldest first, at most `limit` of them. Nothing
   * stays open between calls. Of a log that was compacted only the last event is left.
   */
  read(taskId: string, after: Seq, limit: number): Promise<readonly Stored[]>;

  /** Calls `wake` with the newest sequence after each commit to the task. Returns how to stop. */
  watch(taskId: string, wake: (head: Seq) => void): () => void;

  readonly tasks: TaskIndex;
  readonly pushes: PushStore;
  readonly retention: RetentionStore;

  /** Finishes what was begun and lets go of the storage. Later calls reject. */
  close(): Promise<void>;
}

/** Everything one task changes at one instant. */
export interface Step {
  readonly taskId: string;
  /** Present on the first step of a task. */
  readonly create?: NewTask;
  /** The run that writes. An epoch below the stored one is stale and refused; a higher one is kept. */
  readonly epoch: number;
  /** The events as JSON texts of the model, in order. */
  readonly events: readonly string[];
  /** The state after the events, checked against the stored one: terminal is final. */
  readonly state: TaskState;
  /** When that state was entered, in milliseconds. Lists are ordered by it. */
  readonly statusAt: number;
  /** Whether lists show the task. An answer without a task is never listed. */
  readonly listed: boolean;
  /** The message this step accepts. One id is taken once per owner (G6). */
  readonly message?: AcceptedMessage;
  /** A newer fold of the log than the stored one. */
  readonly snapshot?: Snapshot;
  /**
   * When the task wants to be woken, in milliseconds; `null` takes the wish back,
   * and so does the end of the task. Absent leaves it as it is.
   */
  readonly wakeAt?: number | null;
  /** A push config that came with the message of this step, put in the same transaction. */
  readonly push?: NewPush;
}

export interface NewTask {
  readonly owner: string;
  readonly contextId: string;
  /** The name of the agent that works on it. */
  readonly agent: string;
  readonly createdAt: number;
  /**
   * Refuse it when its context is forgotten: retention pruned all of the owner's
   * listed tasks that were in it, and has not freed its name yet.
   */
  readonly unlessForgotten?: true;
}

export interface AcceptedMessage {
  readonly messageId: string;
  /** Of the decoded message, so that every binding gives the same. */
  readonly digest: string;
}

/** The fold of the log up to and including `seq`, as JSON of a task. */
export interface Snapshot {
  readonly seq: Seq;
  readonly json: string;
}

export type Committed =
  /** Durable; `head` is the sequence of the last event. */
  | { readonly kind: "committed"; readonly head: Seq }
  /** The messageId is taken: the first task that has it, and the digest it had. */
  | { readonly kind: "duplicate"; readonly taskId: string; readonly digest: string }
  /** A newer run owns the task. */
  | { readonly kind: "stale"; readonly epoch: number }
  /** The task has ended; nothing is appended to it. */
  | { readonly kind: "terminal"; readonly state: TaskState }
  /** The step names a task that was never created. */
  | { readonly kind: "unknown" }
  /** The context of the new task is forgotten, and the step wanted to be told. */
  | { readonly kind: "forgotten" };

/** One event of a log, as it was committed. */
export interface Stored {
  readonly seq: Seq;
  readonly json: string;
}

/** What is known of a task without reading its log. */
export interface TaskRecord {
  readonly taskId: string;
  readonly owner: string;
  readonly contextId: string;
  readonly agent: string;
  readonly epoch: number;
  readonly head: Seq;
  readonly state: TaskState;
  readonly statusAt: number;
  readonly createdAt: number;
  readonly listed: boolean;
  /** Only the last event of its log is left. */
  readonly compacted: boolean;
  readonly wakeAt?: number;
}

/** A record with the newest snapshot of its log, which may be as large as the limits of a task allow. */
export interface StoredTask extends TaskRecord {
  readonly snapshot: Snapshot | undefined;
}

/**
 * Point reads and lists. A read sees everything that a resolved `commit` wrote. Only `get` reads
 * a snapshot: a list of a hundred large tasks must not bring all of them into memory.
 */
export interface TaskIndex {
  get(taskId: string): Promise<StoredTask | undefined>;
  list(query: TaskQuery): Promise<TaskRecordPage>;
  /** The owner's listed tasks of a context that precede `before`, newest first, at most `limit`. */
  ofContext(query: ContextQuery): Promise<readonly TaskRecord[]>;
  /** The owner's listed tasks that were created at or before `at` and got another status after it, in no order. */
  changedSince(query: ChangedQuery): Promise<readonly TaskRecord[]>;
  /** Tasks that have not ended, whoever owns them, ordered by id; pass the last id to go on. */
  unfinished(after: string, limit: number): Promise<readonly TaskRecord[]>;
  /** Tasks that want to be woken, whoever owns them, the earliest first, at most `limit`. */
  waking(limit: number): Promise<readonly TaskRecord[]>;
}

/** A page of an owner's listed tasks, newest status first. */
export interface TaskQuery {
  readonly owner: string;
  readonly contextId?: string;
  readonly state?: TaskState;
  /** Only tasks with a status at or after this time. */
  readonly since?: number;
  /** Only tasks with a status at or before this time. */
  readonly until?: number;
  readonly limit: number;
  /** Where the page before ended. */
  readonly after?: ListPosition;
}

/** Status time first, id second, both descending, so that equal times have one order. */
export interface ListPosition {
  readonly statusAt: number;
  readonly taskId: string;
}

export interface TaskRecordPage {
  readonly records: readonly TaskRecord[];
  /** How many tasks the query matches in all, whatever its `until` says. */
  readonly total: number;
}

export interface ContextQuery {
  readonly owner: string;
  readonly contextId: string;
  /** Tasks are ordered by creation time. Ids, which a caller may choose, only break ties. */
  readonly before: CreationPosition;
  readonly limit: number;
}

/** A task's place among the tasks of its context. */
export interface CreationPosition {
  readonly createdAt: number;
  readonly taskId: string;
}

export interface ChangedQuery {
  readonly owner: string;
  readonly contextId?: string;
  readonly at: number;
}
