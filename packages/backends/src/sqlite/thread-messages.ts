import type { TaskState } from "@convoke/protocol";
import type {
  AcceptedMessage,
  NewPush,
  NewTask,
  PruneQuery,
  PushProgress,
  PushRecord,
  Refusal,
  Seq,
  Snapshot,
} from "@convoke/engine";
import type { Failure } from "./storage-error.ts";

/** What the writer thread is started with. */
export interface WriterSettings {
  readonly file: string;
  readonly durability: "power" | "process";
  readonly busyTimeoutMs: number;
  readonly maxBytes: number | undefined;
  readonly terminal: ReadonlySet<TaskState>;
  /** From each state to those that may follow it. */
  readonly followers: ReadonlyMap<TaskState, ReadonlySet<TaskState>>;
}

/** A step on its way to the writer thread: its events are one text already. */
export interface SentStep {
  /** Other writes have one. A step, which is the common case, is sent without. */
  readonly kind?: undefined;
  readonly taskId: string;
  readonly create?: NewTask;
  readonly epoch: number;
  readonly count: number;
  readonly body: string;
  readonly state: TaskState;
  readonly statusAt: number;
  readonly listed: boolean;
  readonly message?: AcceptedMessage;
  readonly snapshot?: Snapshot;
  readonly wakeAt?: number | null;
  readonly push?: NewPush;
}

/** What else is written, in order with the steps and in their transaction. */
export type OtherWrite =
  | { readonly kind: "put-push"; readonly taskId: string; readonly push: NewPush }
  | { readonly kind: "progress-push"; readonly progress: PushProgress }
  | { readonly kind: "delete-push"; readonly taskId: string; readonly id: string }
  | { readonly kind: "prune"; readonly query: PruneQuery }
  | { readonly kind: "compact"; readonly taskId: string; readonly snapshot: Snapshot }
  | { readonly kind: "forget-messages"; readonly acceptedBefore: number; readonly limit: number }
  | { readonly kind: "forget-contexts"; readonly endedBefore: number; readonly limit: number };

/** What each of them is answered with. */
export interface WriteResults {
  readonly "put-push": PushRecord | undefined;
  readonly "progress-push": boolean;
  readonly "delete-push": boolean;
  readonly prune: number;
  readonly compact: boolean;
  readonly "forget-messages": number;
  readonly "forget-contexts": number;
}

export type SentWrite = SentStep | OtherWrite;

/**
 * To the writer: the writes of one transaction; the wish that it gives back disk
 * space, which cannot be done in a transaction; or that it ends.
 */
export type ToWriter = readonly SentWrite[] | "reclaim" | "close";

/** From the writer: first whether it could open the database, then one answer for each batch. */
export type FromWriter =
  | { readonly kind: "open" }
  | { readonly kind: "unusable"; readonly reason: string }
  | { readonly kind: "answers"; readonly answers: readonly WriteAnswer[] }
  | { readonly kind: "failed"; readonly failure: Failure };

/** To a step its new head, which is the common case and the cheapest to send, or why not. */
export type WriteAnswer = StepAnswer | Answered | Rejection;

export type StepAnswer = Seq | Refusal;

interface Answered {
  readonly kind: "answered";
  readonly value: WriteResults[keyof WriteResults];
}

interface Rejection {
  readonly kind: "rejected";
  readonly reason: string;
}
