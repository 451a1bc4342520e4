import type { InternalEventBase, Metadata } from "@convoke/protocol";

// Events that the loop records about sub-agent calls in the log of its task. A later attempt uses
// them to find the sub-agent's existing task instead of starting a second one.

/** Committed before a sub-agent is called. */
export interface SubAgentCallEvent extends InternalEventBase {
  readonly kind: "internal:sub-agent-call";
  readonly toolCallId: string;
  readonly agent: string;
  /** The owner on whose behalf the sub-agent is called. */
  readonly owner: string;
  /** The message id and the context it is sent to, by which the sub-agent's task can be found. */
  readonly messageId: string;
  readonly childContextId: string;
  /**
   * The metadata of the sent message, because a repeated message must be identical. The `metadata`
   * field of this event cannot hold it: the server adds the trace there.
   */
  readonly handed: Metadata;
  readonly timestamp: string;
}

/** A sub-agent has started a task for a call. */
export interface SubAgentEvent extends InternalEventBase {
  readonly kind: "internal:sub-agent";
  readonly toolCallId: string;
  /** The name of the sub-agent in this agent's definition. */
  readonly agent: string;
  /** The owner on whose behalf the sub-agent was called. */
  readonly owner: string;
  readonly childTaskId: string;
  readonly childContextId: string;
  readonly timestamp: string;
}

/** A sub-agent has asked a question, which is relayed to the caller of this task. */
export interface SubAgentQuestionEvent extends InternalEventBase {
  readonly kind: "internal:sub-agent-question";
  readonly toolCallId: string;
  /** Counts from 1 within the call. */
  readonly number: number;
  /** The id of the message that asks; absent if the sub-agent waits without a message. */
  readonly messageId?: string;
  readonly requests: readonly ChildRequest[];
  readonly timestamp: string;
}

/** One request that a sub-agent is waiting on. */
export interface ChildRequest {
  /** The id under which the call relays the request. */
  readonly requestId: string;
  readonly kind: "approval" | "input" | "auth";
  /** The sub-agent's own id for it; absent if it asks with text only. */
  readonly childId?: string;
  /** The digest of the arguments to approve. */
  readonly digest?: string;
}

/** The message that starts a sub-agent's task. */
export type SentCall = Pick<SubAgentCallEvent, "messageId" | "childContextId" | "handed">;

/** A question as the rounds of a call use it. */
export type ChildQuestion = Pick<SubAgentQuestionEvent, "number" | "messageId" | "requests">;
