import type { TaskState } from "@convoke/protocol";
import type { BlobStore } from "./blob-store.ts";
import type { Sharing } from "./sharing.ts";

/** The position of an event in its task's log, starting at 1. */
export type Seq = number;

/**
 * Stores tasks and their logs. Every implementation passes the same contract
 * suite: `describeBackend` in `@convoke/engine/testing`.
 */
export interface Backend {
  /**
   * Applies a step atomically and resolves once it is durable. A step that must
   * not be applied resolves to a refusal; a duplicate takes precedence over all
   * other refusals. The promise rejects if the step is invalid (a state that
   * moves backwards, a task created twice) or if the storage failed. After a
   * storage failure the step may or may not have been written: commit it again
   * to find out. A step with `after` is not written twice.
   */
  commit(step: CommitStep): Promise<CommitResult>;

  /**
   * Returns up to `limit` events after `after`, oldest first. Nothing stays open
   * between calls. A compacted log contains only the events that compaction kept.
   *
   * @param maxLength the page may end with the event at which it reaches this many characters, so
   * that a page of large events does not fill the memory. It may also end with the newest event that
   * this process knows, before those that others have just written. Default: no limit, and a page
   * with fewer events than `limit` ends with the end of the log.
   */
  read(
    taskId: string,
    after: Seq,
    limit: number,
    maxLength?: number,
  ): Promise<readonly StoredEvent[]>;

  /**
   * Calls `wake` with the newest sequence after each commit to the task. A storage that processes
   * share may join commits of others, may call it once more with a sequence that is stored already, and
   * calls it with a lower sequence than before if it has lost the end of the log.
   * Returns a function that stops it.
   */
  watch(taskId: string, wake: (head: Seq) => void): () => void;

  /**
   * Whether the process that used the storage before ended without closing it. Absent if the
   * storage does not know.
   */
  readonly isAfterCrash?: boolean;

  readonly tasks: TaskIndex;
  readonly pushes: PushStore;
  readonly retention: RetentionStore;
  /** Keeps large files. Absent if the storage has no place for them: then they stay in the log. */
  readonly blobs?: BlobStore;
  /** Absent if only one process can use the storage at a time: then every task is its own. */
  readonly sharing?: Sharing;

  /** Completes pending writes and releases the storage. Later calls reject. */
  close(): Promise<void>;
}

/** All changes to one task that are committed together. */
export interface CommitStep {
  readonly taskId: string;
  /** Present on the first step of a task. */
  readonly create?: NewTask;
  /** Identifies the run that writes. A lower epoch than the stored one is refused as stale; a higher one is stored. */
  readonly epoch: number;
  /**
   * What the writer believes to be stored. If the log has another end or the task another epoch,
   * somebody else has written, and the step is refused as stale, unless it is this very step that
   * was written: in a shared storage, with its epoch. Default: the step is appended wherever the log ends, and never taken for a repetition.
   */
  readonly after?: LogPosition;
  /** The events in order, each serialized as JSON on one line. */
  readonly events: readonly string[];
  /** The state after the events, checked against the stored one: a terminal state is final. */
  readonly state: TaskState;
  /** When that state was entered, in milliseconds. Lists are ordered by it. */
  readonly statusAt: number;
  /** Whether lists include the task. A reply without a task is never listed. */
  readonly listed: boolean;
  /** The message this step accepts. Each owner can use a messageId once, so that retries run nothing twice (G6). */
  readonly message?: AcceptedMessage;
  /**
   * Among which tasks of the owner message ids and expired contexts are looked up: those of the
   * task's agent, because the agents of one store have conversations of their own. Default: all.
   */
  readonly perAgent?: true;
  /** A snapshot that is newer than the stored one. */
  readonly snapshot?: StoredSnapshot;
  /**
   * When to wake the task, in milliseconds since the epoch. `null`, or the end of
   * the task, clears it; if absent, it does not change.
   */
  readonly wakeAt?: number | null;
  /** A push config sent with the message of this step, stored in the same transaction. */
  readonly push?: NewPush;
  /**
   * Whether this process works on the task from now on; `"elsewhere"`: another one is to claim it at
   * once, as if this one had released it. If absent, that does not change. The end of the task clears
   * it. Only storage that processes share has a use for it.
   */
  readonly running?: boolean | "elsewhere";
  /** The ids of the mailbox entries that this step handles. They are removed with it. */
  readonly mailbox?: readonly string[];
  /** Nothing waits for this step: it may be stored some milliseconds later, together with others. */
  readonly mayWait?: true;
}

/** The end of a log, and the epoch of the run that wrote it. */
export interface LogPosition {
  readonly head: Seq;
  readonly epoch: number;
}

export interface NewTask {
  readonly owner: string;
  readonly contextId: string;
  /** The name of the agent that works on the task, for people. */
  readonly agent: string;
  /** The id of that agent, which decides whose task it is. Absent in tasks of versions without ids. */
  readonly agentId?: string;
  readonly createdAt: number;
  /** Only processes on this host work on the task, see `Sharing.host`. Default: all. */
  readonly host?: string;
  /**
   * Refuse the task if its context has expired: retention pruned all of the
   * owner's listed tasks in it and still remembers the context id.
   */
  readonly unlessForgotten?: true;
}

export interface AcceptedMessage {
  readonly messageId: string;
  /** Digest of the decoded message, so that every binding computes the same one. */
  readonly digest: string;
}

/** The task after all events up to and including `seq`, as JSON. */
export interface StoredSnapshot {
  readonly seq: Seq;
  readonly json: string;
}

export type CommitResult =
  /** The step is durable; `head` is the sequence of the last event. */
  | { readonly kind: "committed"; readonly head: Seq }
  /** The messageId was used before: by which task, and with which digest. */
  | { readonly kind: "duplicate"; readonly taskId: string; readonly digest: string }
  /** A newer run owns the task, or the log does not end where the step assumes. */
  | { readonly kind: "stale"; readonly epoch: number; readonly head: Seq }
  /** The task has ended; nothing can be appended. */
  | { readonly kind: "terminal"; readonly state: TaskState }
  /** There is no such task. */
  | { readonly kind: "unknown" }
  /** The context of the new task has expired, and the step set `unlessForgotten`. */
  | { readonly kind: "forgotten" };

/** One committed event of a log. */
export interface StoredEvent {
  readonly seq: Seq;
  readonly json: string;
  /**
   * When the event was committed, in milliseconds since the epoch. Absent in logs of versions that
   * did not store it.
   */
  readonly at?: number;
  /**
   * The epoch of the step that wrote it. Absent if only one process can use the storage. Together with
   * `seq` it identifies the event, also if the storage has lost the end of a log and it was written again.
   */
  readonly epoch?: number;
}

/** The indexed fields of a task, available without reading its log. */
export interface TaskRecord {
  readonly taskId: string;
  readonly owner: string;
  readonly contextId: string;
  readonly agent: string;
  readonly agentId?: string;
  readonly epoch: number;
  readonly head: Seq;
  readonly state: TaskState;
  readonly statusAt: number;
  readonly createdAt: number;
  readonly listed: boolean;
  /** Whether only the last event of the log is left. */
  readonly compacted: boolean;
  readonly wakeAt?: number;
  /** The host on which it has to run. Absent if it may run anywhere, or if the storage is not shared. */
  readonly host?: string;
}

/** A record with the newest stored snapshot, which can be as large as the limits of a task allow. */
export interface StoredTask extends TaskRecord {
  readonly snapshot: StoredSnapshot | undefined;
}

/**
 * Point reads and lists. A read sees everything that a resolved `commit` wrote. Only `get` loads
 * the snapshot: listing a hundred large tasks must not load all of them into memory.
 */
export interface TaskIndex {
  get(taskId: string): Promise<StoredTask | undefined>;
  /** The same without the snapshot. */
  record(taskId: string): Promise<TaskRecord | undefined>;
  list(query: TaskQuery): Promise<TaskRecordPage>;
  /** The owner's listed tasks of a context that precede `before`, newest first, at most `limit`. */
  ofContext(query: ContextQuery): Promise<readonly TaskRecord[]>;
  /** The owner's listed tasks that existed at `at` and changed their status after it, in no particular order. */
  changedSince(query: ChangedQuery): Promise<readonly TaskRecord[]>;
  /** Unfinished tasks of all owners, ordered by id; pass the last id to get the next page. */
  unfinished(after: string, limit: number): Promise<readonly TaskRecord[]>;
  /**
   * Tasks of all owners, listed or not, in descending order of their ids, which is newest first.
   * It has no other filters: the cost of a page must not depend on how rare a match is.
   */
  newest(query: NewestQuery): Promise<readonly TaskRecord[]>;
  /**
   * Tasks of all owners that have a `wakeAt`, earliest first, then by id, at most `limit`. Pass the
   * position of the last one to get the next page.
   */
  waking(limit: number, after?: WakePosition): Promise<readonly TaskRecord[]>;
}

/** A task's place among the tasks that have a `wakeAt`. */
export interface WakePosition {
  readonly wakeAt: number;
  readonly taskId: string;
}

/** Selects a page of an owner's listed tasks, newest status first. */
export interface TaskQuery {
  readonly owner: string;
  /** Only tasks of this agent. Default: of all agents. */
  readonly agentId?: string;
  readonly contextId?: string;
  readonly state?: TaskState;
  /** Only tasks with a status at or after this time. */
  readonly since?: number;
  /** Only tasks with a status at or before this time. */
  readonly until?: number;
  readonly limit: number;
  /** Where the previous page ended. */
  readonly after?: ListPosition;
}

/** Lists are ordered by status time, then by id, both descending, so that tasks with equal times have a stable order. */
export interface ListPosition {
  readonly statusAt: number;
  readonly taskId: string;
}

/** Selects a page of the tasks of all owners. */
export interface NewestQuery {
  /** Only tasks with a lower id: the last one of the previous page. */
  readonly before?: string;
  /** Only tasks that have not ended. Default: all. */
  readonly isUnfinished?: boolean;
  readonly limit: number;
}

export interface TaskRecordPage {
  readonly records: readonly TaskRecord[];
  /** How many tasks match the query in total, ignoring `until`. */
  readonly total: number;
}

export interface ContextQuery {
  readonly owner: string;
  /** Only tasks of this agent. Default: of all agents. */
  readonly agentId?: string;
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
  /** Only tasks of this agent. Default: of all agents. */
  readonly agentId?: string;
  readonly contextId?: string;
  readonly at: number;
}

/**
 * A push config of a task and its delivery progress: a cursor over the task's
 * log (G12: each event is delivered at least once, in order). A task can have
 * several, distinguished by id.
 */
export interface PushRecord {
  readonly taskId: string;
  readonly id: string;
  /** The owner of the task. */
  readonly owner: string;
  /** The config as JSON. The store does not interpret it. */
  readonly config: string;
  /** Incremented each time the config is replaced, so that deliveries for the earlier one cannot record progress. */
  readonly generation: number;
  /** Everything up to this sequence was delivered, or happened before the config was created. */
  readonly cursor: Seq;
  readonly state: PushState;
  /** When deliveries started to fail, in milliseconds since the epoch. */
  readonly failingSince?: number;
  /** Why the last delivery failed. */
  readonly problem?: string;
}

/**
 * `active`: there may be events to deliver, now or later. `done`: the task has
 * ended and every event was delivered. `dead`: delivery was given up until it is replayed.
 */
export type PushState = "active" | "done" | "dead";

export interface NewPush {
  readonly id: string;
  readonly config: string;
  /** Events after this sequence are delivered. */
  readonly cursor: Seq;
}

/** The new delivery state of a config. */
export interface PushProgress {
  readonly taskId: string;
  readonly id: string;
  readonly generation: number;
  readonly cursor: Seq;
  readonly state: PushState;
  /** `null` if the last delivery succeeded. */
  readonly failure: { readonly since: number; readonly problem: string } | null;
}

/** A position in a list of configs, which is ordered by task id and then by config id. */
export interface PushPosition {
  readonly taskId: string;
  readonly id: string;
}

export interface PushQuery {
  readonly state: PushState;
  /** Only configs of this owner. */
  readonly owner?: string;
  readonly after?: PushPosition;
  readonly limit: number;
}

/** Stores the push configs of all tasks. They are deleted with their task. */
export interface PushStore {
  /**
   * Adds a config as `active` with generation 1, or replaces the config with that id and increments
   * its generation. Resolves to `undefined` if there is no such task.
   */
  put(taskId: string, push: NewPush): Promise<PushRecord | undefined>;
  get(taskId: string, id: string): Promise<PushRecord | undefined>;
  /** The configs of one task, ordered by id. */
  ofTask(taskId: string): Promise<readonly PushRecord[]>;
  /** Configs of all tasks, ordered by task id and then by config id. */
  list(query: PushQuery): Promise<readonly PushRecord[]>;
  /** Stores the progress of a config. Resolves to false, and stores nothing, if the config was deleted or replaced. */
  progress(progress: PushProgress): Promise<boolean>;
  /** Resolves to whether there was a config to delete. */
  delete(taskId: string, id: string): Promise<boolean>;
}

/** Selects ended tasks to remove. A task with an active push is never removed. */
export interface PruneQuery {
  /** Remove tasks that ended before this time, in milliseconds since the epoch. */
  readonly endedBefore: number;
  /**
   * Only tasks that ended at this time or later. Earlier ones count for `keep`, and are not looked at:
   * so that many tasks that are spared cost little. Default: all.
   */
  readonly endedFrom?: number;
  /** Also remove all but this many of the most recently ended tasks. */
  readonly keep: number;
  /** The maximum number of tasks to remove in one call, oldest first. */
  readonly limit: number;
  /** Only tasks of this owner. Default: of all. */
  readonly owner?: string;
  /** No tasks of these owners. They count for `keep`. Default: none is spared. */
  readonly exceptOwners?: readonly string[];
  /** Only tasks of the agent with this id. Default: of all. */
  readonly agentId?: string;
  /** No tasks of the agents with these ids. They count for `keep`. Default: none is spared. */
  readonly exceptAgents?: readonly string[];
}

/** Names ended tasks to remove, however old they are. */
export interface RemoveQuery {
  readonly taskIds: readonly string[];
  /** Whether the ids of their messages are freed at once. Default: they stay in use, as after `prune`. */
  readonly freesMessages?: boolean;
}

/** An erasure that has begun and is not finished. */
export interface StoredErasure {
  readonly id: string;
  /** What is erased, as JSON. The store does not interpret it. */
  readonly json: string;
}

/** Limits the size of the storage, and erases. */
export interface RetentionStore {
  /**
   * Removes tasks with their logs, snapshots and push configs. The ids of their
   * messages stay in use (G6), and a context without any remaining listed task
   * is remembered as expired. Resolves to the ids of the removed tasks.
   */
  prune(query: PruneQuery): Promise<readonly string[]>;
  /**
   * Removes these tasks in the same way, also those with an active push. Unfinished and unknown
   * tasks are left out. Resolves to the ids of the removed ones.
   */
  remove(query: RemoveQuery): Promise<readonly string[]>;
  /** Frees ids of messages that removed tasks accepted before this time, at most `limit`. Resolves to how many. */
  forgetMessages(acceptedBefore: number, limit: number): Promise<number>;
  /** Frees ids of expired contexts whose last task ended before this time, at most `limit`. Resolves to how many. */
  forgetContexts(endedBefore: number, limit: number): Promise<number>;
  /**
   * Tasks that ended before this time and still have their full log, oldest first. Tasks with an
   * undelivered push, active or dead, are excluded.
   */
  compactable(endedBefore: number, limit: number): Promise<readonly TaskRecord[]>;
  /**
   * Removes events from the log of an ended task, except the last one and those in `keep`; the
   * snapshot, which must be at the head of the log, replaces them. Resolves to false if the task
   * has not ended, has an undelivered push, or the snapshot is not at the head.
   */
  compact(taskId: string, snapshot: StoredSnapshot, keep?: readonly Seq[]): Promise<boolean>;
  /** Returns some unused disk space to the operating system. Resolves to false if there was none. */
  reclaim(): Promise<boolean>;
  /** Removes what is left about an owner after its tasks: ids of messages and contexts, and counts. */
  forgetOwner(owner: string): Promise<void>;
  /** The erasures that have begun, ordered by id. */
  erasures(): Promise<readonly StoredErasure[]>;
  /** Stores or replaces an erasure; `null` removes it. Resolves to whether it was stored before. */
  putErasure(id: string, json: string | null): Promise<boolean>;
  /**
   * Overwrites everything that was deleted, as far as this storage has files of its own: afterwards
   * they have no byte of it. May take as long as rewriting all of it; other writes wait.
   */
  purge(): Promise<void>;
}
