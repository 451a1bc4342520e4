import type { Snapshot, TaskRecord } from "./backend.ts";

/** Which ended tasks are forgotten. One with an active push never is. */
export interface PruneQuery {
  /** Those that ended before this time, in milliseconds. */
  readonly endedBefore: number;
  /** Those beyond the newest so many that have ended, by the time they ended. */
  readonly keep: number;
  /** At most so many in one go, oldest first. */
  readonly limit: number;
}

/** How the storage stays small. */
export interface RetentionStore {
  /**
   * Forgets tasks: their logs, snapshots and push configs. The ids of their
   * messages stay taken (G6), and a context that is left without a listed task is
   * known as forgotten. Resolves to how many are gone.
   */
  prune(query: PruneQuery): Promise<number>;
  /** Frees the ids of messages that were accepted before this time by tasks that are gone, at most `limit`. Resolves to how many. */
  forgetMessages(acceptedBefore: number, limit: number): Promise<number>;
  /** Frees the names of contexts whose tasks are gone and ended before this time, at most `limit`. Resolves to how many. */
  forgetContexts(endedBefore: number, limit: number): Promise<number>;
  /** Tasks that ended before this time and still have their whole log, oldest first. One with an undelivered push, active or dead, is not among them. */
  compactable(endedBefore: number, limit: number): Promise<readonly TaskRecord[]>;
  /**
   * Drops the log of an ended task but for its last event; the snapshot, which
   * must be of its head, stands for the rest. False when the task is not ended,
   * has an undelivered push, or the snapshot is not of its head.
   */
  compact(taskId: string, snapshot: Snapshot): Promise<boolean>;
  /** Gives some of the disk space that nothing uses back to the system. False when there was none left to give. */
  reclaim(): Promise<boolean>;
}
