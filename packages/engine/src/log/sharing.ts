import type { KeyValueStore, TaskState } from "@convoke/protocol";
import type { AcceptedMessage, TaskRecord } from "./backend.ts";

/**
 * The part of a storage that several processes share. A task that an agent works on belongs to one
 * process at a time, by a lease of that process; a task that waits belongs to none. Leases decide
 * only who may try: what is written is decided by `CommitStep.after`.
 */
export interface Sharing {
  /** The id of the host of this process. Tasks that name another one are not claimed by it. */
  readonly host: string;
  /**
   * Whether the lease of this process is valid, so that no other can have claimed its tasks.
   *
   * @param since and was valid without a gap since this time, by `performance.now()`: in a gap others
   * may have claimed them. Default: now.
   */
  isHeld(since?: number): boolean;
  /**
   * Claims unfinished tasks of the given agents whose process is gone, which were released, or whose
   * `wakeAt` has passed while nobody works on them. Each is given to one process, with a new epoch.
   */
  claim(query: ClaimQuery): Promise<readonly ClaimedTask[]>;
  /**
   * The same for one task that somebody wants something of, also if nobody works on it because it
   * waits. Resolves to `undefined` if it has ended, or another process that lives works on it.
   *
   * @param options.anyHost also claims a task that has to run on another host, in order to end it
   */
  claimTask(
    taskId: string,
    options?: { readonly anyHost?: boolean },
  ): Promise<ClaimedTask | undefined>;
  /** The ids of the tasks that this process works on, as the storage has recorded. */
  ownTasks(): Promise<readonly string[]>;
  /** Stores something for the process that works on the task. */
  post(taskId: string, entry: NewMailboxEntry): Promise<PostResult>;
  /** The mailbox entries of a task, oldest first. */
  mailbox(taskId: string): Promise<readonly MailboxEntry[]>;
  /** Calls `read` when there are mailbox entries for tasks of this process. Returns a function that stops it. */
  onMailbox(read: (taskIds: readonly string[]) => void): () => void;
  /** Calls `lost` when tasks of this process were claimed by another one. Returns a function that stops it. */
  onLost(lost: (taskIds: readonly string[]) => void): () => void;
  /** Calls `released` when other processes have given up tasks. Returns a function that stops it. */
  onReleased(released: () => void): () => void;
  /** Gives up tasks of this process, so that others claim them at once. None: tells them to look for those that sleep. */
  release(taskIds: readonly string[]): Promise<void>;
  /** Resolves when everything that any process wrote before this time is stored, or after a short time. */
  settled(at: number): Promise<void>;
  /** Claims endpoints (of pushes) that no other process delivers to, at most this many; the result is all that this process has. */
  claimEndpoints(limit: number): Promise<readonly string[]>;
  /** The processes that use the storage. */
  replicas(): Promise<readonly Replica[]>;
  /** Opens a collection of small values by its name, such as API keys. */
  values(collection: string): KeyValueStore;
  /** How many tasks wait for a host on which no process lives, by host. Those that wait for their caller do not count. */
  waitingForHosts(dueAt: number): Promise<readonly WaitingForHost[]>;
}

/** Tasks that no process can claim, because they have to run on a host that has none. */
export interface WaitingForHost {
  readonly host: string;
  readonly tasks: number;
}

/** A task that this process has claimed. */
export interface ClaimedTask extends TaskRecord {
  /**
   * `gone`: the process that worked on it has ended. `released`: it gave the task up, or was this one.
   * `due`: nobody worked on it.
   */
  readonly reason: "gone" | "released" | "due";
  /** Whether there were entries in its mailbox. Those that are posted later are heard of. */
  readonly hasMail: boolean;
  /** The id of the process that is gone, see `Replica.id`. */
  readonly lost?: string;
}

export interface ClaimQuery {
  /** The ids of the agents that this process serves. */
  readonly agentIds: readonly string[];
  /** Also claims waiting tasks whose `wakeAt` is at or before this time. */
  readonly dueAt: number;
  /**
   * Also claims these, if it is recorded that this process works on them: it does not. Default: none.
   */
  readonly abandoned?: readonly string[];
  readonly limit: number;
}

/** A message to a task or a request to cancel it, for the process that works on the task. */
export interface NewMailboxEntry {
  readonly kind: "message" | "cancel";
  /** What the engine needs to handle it, as JSON. The store does not interpret it. */
  readonly json: string;
  /** The message that the entry contains, so that a retry is recognized. */
  readonly message?: AcceptedMessage;
}

export interface MailboxEntry extends NewMailboxEntry {
  readonly id: string;
}

export type PostResult =
  | { readonly kind: "posted"; readonly id: string }
  | { readonly kind: "duplicate"; readonly taskId: string; readonly digest: string }
  | { readonly kind: "terminal"; readonly state: TaskState }
  | { readonly kind: "unknown" };

/** A process that uses the storage. */
export interface Replica {
  readonly id: string;
  /** The id of its host. */
  readonly host: string;
  readonly software: string;
  readonly startedAt: number;
  /** How long its lease is valid, in milliseconds from now. Negative: it is gone. */
  readonly leaseMs: number;
  /** How many tasks it works on. */
  readonly running: number;
  readonly isSelf: boolean;
}
