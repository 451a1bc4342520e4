import type { InternalEventBase } from "@convoke/protocol";
import type { OpenRequest } from "../approvals/open-request.ts";
import type { AssistantContent, FinishReason, ModelUsage } from "../model/model.ts";
import type { DelegatedUsage, Interrupt } from "../tools/tool.ts";

// What the loop records in the log of its task. A later attempt resumes from these
// notes: a model answer or a tool result that is noted is never computed twice.

/** A model is asked. Each request to a provider has exactly one. */
export interface LlmCallEvent extends InternalEventBase {
  readonly kind: "internal:llm-call";
  readonly iteration: number;
  /** From 1; more when the request before failed and was tried again. */
  readonly attempt: number;
  readonly model: string;
  readonly timestamp: string;
}

/** The request failed, and is tried again or given up. */
export interface LlmRetryEvent extends InternalEventBase {
  readonly kind: "internal:llm-retry";
  readonly iteration: number;
  readonly attempt: number;
  /** Safe text of the `ModelError`. */
  readonly problem: string;
  readonly waitMs: number;
  /** No other attempt follows. */
  readonly isGivenUp?: true;
  readonly timestamp: string;
}

/** The model has answered, in full. */
export interface LlmResultEvent extends InternalEventBase {
  readonly kind: "internal:llm-result";
  readonly iteration: number;
  readonly content: readonly AssistantContent[];
  readonly finish: FinishReason;
  readonly usage: ModelUsage;
  /** Where what it said comes from. */
  readonly sources?: readonly Source[];
  readonly timestamp: string;
}

/** On disk before the tool runs. */
export interface ToolStartEvent extends InternalEventBase {
  readonly kind: "internal:tool-start";
  readonly toolName: string;
  readonly toolCallId: string;
  /** The arguments in use: checked, and possibly edited by an approver. */
  readonly input: unknown;
  /** From 1; more when the call asked for something first, or ran again after a crash. */
  readonly round: number;
  readonly timestamp: string;
}

export interface ToolCompleteEvent extends InternalEventBase {
  readonly kind: "internal:tool-complete";
  readonly toolName: string;
  readonly toolCallId: string;
  readonly success: boolean;
  /** The result for the model. */
  readonly output: unknown;
  /** It was not approved, which is not a failure of the tool. */
  readonly isDeclined?: true;
  readonly sources?: readonly Source[];
  /** What other agents used for it. */
  readonly used?: DelegatedUsage;
  readonly timestamp: string;
}

/** The call needs something first; its answers run it again, in the next round. */
export interface ToolInterruptEvent extends InternalEventBase {
  readonly kind: "internal:tool-interrupt";
  readonly toolName: string;
  readonly toolCallId: string;
  readonly round: number;
  readonly interrupts: readonly Interrupt[];
  readonly timestamp: string;
}

/** What a running tool says that it is doing. */
export interface ToolProgressEvent extends InternalEventBase {
  readonly kind: "internal:tool-progress";
  readonly toolCallId: string;
  readonly text: string;
  readonly fraction?: number;
}

/** More of the output of a running tool, up to a bound. */
export interface ToolOutputEvent extends InternalEventBase {
  readonly kind: "internal:tool-output";
  readonly toolCallId: string;
  readonly text: string;
}

/** The task asks its caller, and waits. Servers know a waiting task by this note. */
export interface AskEvent extends InternalEventBase {
  readonly kind: "internal:ask";
  readonly iteration: number;
  readonly requests: readonly OpenRequest[];
  /** When the first of them expires, if one does. */
  readonly until?: string;
  /** The loop looks meanwhile whether something of it is settled elsewhere. */
  readonly isWatched?: true;
  readonly timestamp: string;
}

/** Where something that was said comes from. */
export interface Source {
  readonly url: string;
  readonly title?: string;
}

/** An iteration is complete; the loop can resume from here. */
export interface CheckpointEvent extends InternalEventBase {
  readonly kind: "internal:checkpoint";
  readonly iteration: number;
  readonly timestamp: string;
}

/** Old entries were left out of the request, because it exceeded the context window. */
export interface TrimmedEvent extends InternalEventBase {
  readonly kind: "internal:trimmed";
  readonly iteration: number;
  readonly entries: number;
  readonly timestamp: string;
}
