import type { TaskState } from "@convoke/protocol";
import type {
  AcceptedMessage,
  CommitResult,
  LogPosition,
  NewPush,
  NewTask,
  PruneQuery,
  PushProgress,
  PushRecord,
  RemoveQuery,
  Seq,
  StoredSnapshot,
} from "@convoke/engine";
import type { Failure } from "../storage/storage-error.ts";

/** The settings of the writer thread. */
export interface WriterSettings {
  readonly file: string;
  readonly durability: "power" | "process";
  readonly busyTimeoutMs: number;
  readonly maxBytes: number | undefined;
  readonly terminal: ReadonlySet<TaskState>;
  /** The states that may follow each state. */
  readonly followers: ReadonlyMap<TaskState, ReadonlySet<TaskState>>;
}

/** A step for the writer thread. Its events are joined into one text. */
export interface SentStep {
  /** Absent for steps, which are the most common write. */
  readonly kind?: undefined;
  readonly taskId: string;
  readonly create?: NewTask;
  readonly epoch: number;
  readonly after?: LogPosition;
  readonly count: number;
  readonly body: string;
  readonly state: TaskState;
  readonly statusAt: number;
  readonly listed: boolean;
  readonly message?: AcceptedMessage;
  readonly perAgent?: true;
  readonly snapshot?: StoredSnapshot;
  readonly wakeAt?: number | null;
  readonly push?: NewPush;
}

/** Other writes, executed in order with the steps and in the same transactions. */
export type OtherWrite =
  | { readonly kind: "put-push"; readonly taskId: string; readonly push: NewPush }
  | { readonly kind: "progress-push"; readonly progress: PushProgress }
  | { readonly kind: "delete-push"; readonly taskId: string; readonly id: string }
  | { readonly kind: "prune"; readonly query: PruneQuery }
  | { readonly kind: "remove"; readonly query: RemoveQuery }
  | {
      readonly kind: "compact";
      readonly taskId: string;
      readonly snapshot: StoredSnapshot;
      readonly keep: readonly Seq[];
    }
  | { readonly kind: "forget-messages"; readonly acceptedBefore: number; readonly limit: number }
  | { readonly kind: "forget-contexts"; readonly endedBefore: number; readonly limit: number }
  | { readonly kind: "forget-owner"; readonly owner: string }
  | { readonly kind: "put-erasure"; readonly id: string; readonly json: string | null };

/** The result of each write. */
export interface WriteResults {
  readonly "put-push": PushRecord | undefined;
  readonly "progress-push": boolean;
  readonly "delete-push": boolean;
  readonly prune: readonly string[];
  readonly remove: readonly string[];
  readonly compact: boolean;
  readonly "forget-messages": number;
  readonly "forget-contexts": number;
  readonly "forget-owner": undefined;
  readonly "put-erasure": boolean;
}

export type SentWrite = SentStep | OtherWrite;

/**
 * A message to the writer thread: the writes of one transaction; a request to return disk space, to
 * overwrite what was deleted or to move the write-ahead log into the database, which is not possible
 * within a transaction; or a request to exit.
 */
export type ToWriter = BatchMessage | "reclaim" | "purge" | "checkpoint" | "close";

/** The writes of a batch as one flat list, see `batch-message.ts`. */
export type BatchMessage = readonly unknown[];

/** A message from the writer thread, one for each request. */
export type FromWriter = BatchResult | { readonly kind: "checkpointed" };

/** What became of a batch. */
export type BatchResult = Answers | { readonly kind: "failed"; readonly failure: Failure };

/** The answers to a batch. */
interface Answers {
  readonly kind: "answers";
  readonly answers: readonly WriteAnswer[];
  /** How long the commit took, most of it for the disk; absent if there was none. */
  readonly syncMs?: number;
}

/**
 * The answer to a step is its new head, which is the most common and cheapest message, or a result
 * that changes nothing: a refusal, or the head of a step that was written before.
 */
export type WriteAnswer = StepAnswer | Answered | Rejection;

export type StepAnswer = Seq | CommitResult;

interface Answered {
  readonly kind: "answered";
  readonly value: WriteResults[keyof WriteResults];
}

interface Rejection {
  readonly kind: "rejected";
  readonly reason: string;
}
