import type { TaskState } from "@convoke/protocol";
import type { AcceptedMessage, NewTask, Seq, Snapshot } from "@convoke/server/backend";
import type { Refusal } from "../judge.ts";
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
}

/** To the writer: the steps of one transaction, or the wish that it ends. */
export type ToWriter = readonly SentStep[] | "close";

/** From the writer: first whether it could open the database, then one answer for each batch. */
export type FromWriter =
  | { readonly kind: "open" }
  | { readonly kind: "unusable"; readonly reason: string }
  | { readonly kind: "answers"; readonly answers: readonly StepAnswer[] }
  | { readonly kind: "failed"; readonly failure: Failure };

/** The new head, which is the common case and the cheapest to send, or why not. */
export type StepAnswer = Seq | Refusal | Rejection;

interface Rejection {
  readonly kind: "rejected";
  readonly reason: string;
}
