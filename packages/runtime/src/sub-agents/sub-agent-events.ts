import type { InternalEventBase, Metadata } from "@convoke/protocol";

// What the loop notes of the agents that it calls, in the log of its task. A later attempt finds
// the same task of theirs again by it, and calls nobody twice.

/** On disk before a sub-agent is called. */
export interface SubAgentCallEvent extends InternalEventBase {
  readonly kind: "internal:sub-agent-call";
  readonly toolCallId: string;
  readonly agent: string;
  /** In whose name it is called. */
  readonly owner: string;
  /** Of the message, and of the context that it is sent to: its task can be found by them. */
  readonly messageId: string;
  readonly childContextId: string;
  /**
   * What the metadata of its message are: sent again, it must be the very same message. The metadata
   * of this event itself are the server's, which adds the trace to them.
   */
  readonly handed: Metadata;
  readonly timestamp: string;
}

/** A sub-agent has begun a task for a call. */
export interface SubAgentEvent extends InternalEventBase {
  readonly kind: "internal:sub-agent";
  readonly toolCallId: string;
  /** Its name here. */
  readonly agent: string;
  /** In whose name it was called. */
  readonly owner: string;
  readonly childTaskId: string;
  readonly childContextId: string;
  readonly timestamp: string;
}

/** A sub-agent has asked for something; its question is put to the caller of this task. */
export interface SubAgentQuestionEvent extends InternalEventBase {
  readonly kind: "internal:sub-agent-question";
  readonly toolCallId: string;
  /** From 1, within the call. */
  readonly number: number;
  /** Of the message in which it asks; absent where it asks without words. */
  readonly messageId?: string;
  readonly requests: readonly ChildRequest[];
  readonly timestamp: string;
}

/** One thing that a sub-agent waits for. */
export interface ChildRequest {
  /** By which the call asks for it. */
  readonly requestId: string;
  readonly kind: "approval" | "input" | "auth";
  /** The sub-agent's own id for it; absent if it asks with text only. */
  readonly childId?: string;
  /** Of the arguments that an approval is for. */
  readonly digest?: string;
}

/** The message that starts a sub-agent's task. */
export type SentCall = Pick<SubAgentCallEvent, "messageId" | "childContextId" | "handed">;

/** A question as the rounds of a call know it. */
export type ChildQuestion = Pick<SubAgentQuestionEvent, "number" | "messageId" | "requests">;
