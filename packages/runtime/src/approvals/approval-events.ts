import type { Approval, ApprovalDecision, InternalEventBase, Metadata } from "@convoke/protocol";

// Approvals in the log of their task: what was asked, and what was decided.

export interface ApprovalRequestedEvent extends InternalEventBase {
  readonly kind: "internal:approval-requested";
  readonly toolCallId: string;
  readonly approval: Approval;
  readonly timestamp: string;
}

/** A call may run by such an event alone, if it approves the very arguments. */
export interface ApprovalDecidedEvent extends InternalEventBase, ApprovalDecision {
  readonly kind: "internal:approval-decided";
  /** Absent where an earlier decision covers the call, so that nobody was asked. */
  readonly approvalId?: string;
  readonly toolCallId: string;
  readonly toolName: string;
  /** Of the arguments that are decided on: those that were edited, where they were. */
  readonly digest: string;
  /** Where the answer has other arguments than the call. */
  readonly arguments?: Metadata;
}
