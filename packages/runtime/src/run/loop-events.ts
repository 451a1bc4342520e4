import type { InternalEventBase } from "@convoke/protocol";
import type { OpenRequest } from "../approvals/open-request.ts";
import type { AssistantContent, FinishReason, ModelUsage } from "../model/model.ts";
import type { DelegatedUsage, Interrupt } from "../tools/tool.ts";

// Events that the loop records in the log of its task. A later attempt resumes from them: a
// recorded model answer or tool result is never computed twice.

/** A request to a model starts. Each request to a provider has exactly one such event. */
export interface LlmCallEvent extends InternalEventBase {
  readonly kind: "internal:llm-call";
  readonly iteration: number;
  /** Counts from 1; higher if an earlier request failed and was retried. */
  readonly attempt: number;
  readonly model: string;
  /** How many entries the request has. Absent in logs of earlier versions, as the two below. */
  readonly entries?: number;
  /** About how many tokens the request has; the result has what the provider counted. */
  readonly estimatedTokens?: number;
  /** The names of the tools that the model may call. */
  readonly tools?: readonly string[];
  readonly timestamp: string;
}

/** The request failed, and is retried or given up. */
export interface LlmRetryEvent extends InternalEventBase {
  readonly kind: "internal:llm-retry";
  readonly iteration: number;
  readonly attempt: number;
  /** Safe text of the `ModelError`. */
  readonly problem: string;
  readonly waitMs: number;
  /** There is no further attempt. */
  readonly isGivenUp?: true;
  /** The id of the model that is used from now on, because this one cannot answer. */
  readonly nextModel?: string;
  readonly timestamp: string;
}

/** A block of the model's reasoning is complete. It is part of the result, too, which follows later. */
export interface ThoughtEvent extends InternalEventBase {
  readonly kind: "internal:thought";
  readonly iteration: number;
  readonly text: string;
  readonly timestamp: string;
}

/** The model's answer is complete. */
export interface LlmResultEvent extends InternalEventBase {
  readonly kind: "internal:llm-result";
  readonly iteration: number;
  readonly content: readonly AssistantContent[];
  readonly finish: FinishReason;
  readonly usage: ModelUsage;
  /** The id of the model that answered. Absent in logs of earlier versions. */
  readonly model?: string;
  /** The sources that the answer cites. */
  readonly sources?: readonly Source[];
  /** Which attempt at the request was answered. Absent in logs of earlier versions, as all below. */
  readonly attempt?: number;
  /** The time until the answer began. Absent if the model said nothing. */
  readonly firstMs?: number;
  /** The time until the answer was complete. */
  readonly durationMs?: number;
  /** The cost of this request in US dollars, if the price of the model is known. */
  readonly costUsd?: number;
  readonly timestamp: string;
}

/** Committed before the tool runs. */
export interface ToolStartEvent extends InternalEventBase {
  readonly kind: "internal:tool-start";
  readonly toolName: string;
  readonly toolCallId: string;
  /** The arguments in use: checked, and possibly edited by an approver. */
  readonly input: unknown;
  /** Counts from 1; higher if the call asked a question first, or was repeated after a crash. */
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
  /** The ids of the artifacts that have the files of the result. */
  readonly files?: readonly string[];
  /** It was not approved, which is not a failure of the tool. */
  readonly isDeclined?: true;
  readonly sources?: readonly Source[];
  /** The usage of sub-agents for this call. */
  readonly used?: DelegatedUsage;
  /** Where the operator's log has the cause, if the tool failed. */
  readonly errorId?: string;
  readonly timestamp: string;
}

/** The call asks a question; its next round starts with the answers. */
export interface ToolInterruptEvent extends InternalEventBase {
  readonly kind: "internal:tool-interrupt";
  readonly toolName: string;
  readonly toolCallId: string;
  readonly round: number;
  readonly interrupts: readonly Interrupt[];
  readonly timestamp: string;
}

/** A progress message of a running tool. */
export interface ToolProgressEvent extends InternalEventBase {
  readonly kind: "internal:tool-progress";
  readonly toolCallId: string;
  readonly text: string;
  readonly fraction?: number;
}

/** Further output of a running tool, up to a limit. */
export interface ToolOutputEvent extends InternalEventBase {
  readonly kind: "internal:tool-output";
  readonly toolCallId: string;
  readonly text: string;
}

/** A note of a running tool, for dialects of the agent. */
export interface ToolNoteEvent extends InternalEventBase {
  readonly kind: "internal:tool-note";
  readonly toolCallId: string;
  readonly name: string;
  readonly data: unknown;
  readonly timestamp: string;
}

/** The task asks its caller and waits. Servers recognize a waiting task by this event. */
export interface AskEvent extends InternalEventBase {
  readonly kind: "internal:ask";
  readonly iteration: number;
  readonly requests: readonly OpenRequest[];
  /** The earliest expiry among the requests, if any of them expires. */
  readonly until?: string;
  /** The loop checks in the meantime whether a request has been settled elsewhere. */
  readonly isWatched?: true;
  readonly timestamp: string;
}

/** A source that an answer or a tool result cites. */
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
