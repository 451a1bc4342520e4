import type {
  Approval,
  ApprovalDecision,
  ArtifactUpdateEvent,
  Message,
  Metadata,
  Task,
  TaskState,
} from "@convoke/protocol";
import type { CallDetails } from "./call-details.ts";
import type { AgentSettings } from "./settings.ts";

/** Where a tool call is in its life: PENDING → EXECUTING → SUCCEEDED or FAILED, or CANCELLED. */
export type ToolCallStatus = "PENDING" | "EXECUTING" | "SUCCEEDED" | "FAILED" | "CANCELLED";

/** A tool call, as far as the log has it. */
export interface CoderToolCall {
  readonly callId: string;
  readonly name: string;
  readonly status: ToolCallStatus;
  /** The arguments; a text if the model wrote something that is not JSON. */
  readonly input: unknown;
  readonly details?: CallDetails;
  /** What it has written so far while it runs. */
  readonly output?: string;
  /** The result for the model, if it succeeded. */
  readonly result?: unknown;
  /** Why it failed or did not run. */
  readonly error?: string;
  /** What it waits for. */
  readonly confirmation?: CallConfirmation;
  /** The decision of the caller, if it was asked. */
  readonly decision?: ApprovalDecision;
}

/** What a call needs from the caller: a decision, or the answer to its question. */
export type CallConfirmation =
  | { readonly kind: "approval"; readonly approval: Approval }
  | {
      readonly kind: "question";
      readonly requestId: string;
      readonly prompt: string;
      readonly options?: readonly string[];
    };

/** One step of a plan. */
export interface PlanEntry {
  readonly content: string;
  readonly status: "pending" | "in_progress" | "completed";
  readonly priority?: "high" | "medium" | "low";
}

/** The name under which a tool notes the plan: `{ kind: "tool:note", name, data: PlanEntry[] }`. */
export const PLAN_NOTE = "plan";

/** The tokens of a task so far. */
export interface CoderUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
}

/** What a coding agent does, in the words of no particular dialect. */
export type CoderEvent =
  /** The task as it was created. */
  | { readonly kind: "task"; readonly task: Task }
  | {
      readonly kind: "state";
      readonly state: TaskState;
      readonly final: boolean;
      readonly message?: Message;
      /** What the status says in addition. */
      readonly metadata: Metadata;
    }
  | { readonly kind: "tool-call"; readonly call: CoderToolCall }
  /** The call waits for the caller. */
  | { readonly kind: "confirmation"; readonly call: CoderToolCall }
  /** The caller has decided what the call waited for. */
  | {
      readonly kind: "decision";
      readonly call: CoderToolCall;
      readonly confirmation: CallConfirmation;
    }
  /** More output of a running call. */
  | {
      readonly kind: "output";
      readonly call: CoderToolCall;
      readonly text: string;
      /** Whether it is the first output of the call. */
      readonly isFirst: boolean;
    }
  /** More text of the answer. All chunks of one text have one id. */
  | { readonly kind: "text"; readonly textId: string; readonly text: string }
  | { readonly kind: "thought"; readonly subject: string; readonly description: string }
  | { readonly kind: "citation"; readonly url: string; readonly title?: string }
  | { readonly kind: "settings"; readonly settings: AgentSettings }
  | { readonly kind: "plan"; readonly entries: readonly PlanEntry[] }
  | { readonly kind: "usage"; readonly usage: CoderUsage }
  /** An artifact that is not the text of the answer. */
  | { readonly kind: "artifact"; readonly event: ArtifactUpdateEvent };
