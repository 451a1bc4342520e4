import type { Approval, ApprovalDecision, InternalEventBase, Metadata } from "@convoke/protocol";
import { canonicalJson } from "@convoke/protocol/internal";
import { createHash } from "node:crypto";

/** A call as the gate knows it. */
export interface GatedCall {
  readonly toolCallId: string;
  /** Of the arguments that are about to run. */
  readonly digest: string;
  /** Whether the tool's rule wants a decision for it. */
  readonly isGuarded: boolean;
}

/**
 * The only gate (G11). A guarded call runs when there is a decision that
 * approves this very call with these very arguments, and never otherwise.
 */
export function mayRun(call: GatedCall, decisions: readonly ApprovalDecidedEvent[]): boolean {
  if (!call.isGuarded) return true;
  return decisions.some(
    ({ outcome, toolCallId, digest }) =>
      outcome === "approved" && toolCallId === call.toolCallId && digest === call.digest,
  );
}

/** The digest of arguments: SHA-256 of their one spelling (RFC 8785), in base64url. */
export function digestArguments(toolArguments: Metadata): string {
  const hash = createHash("sha256").update(canonicalJson(toolArguments)).digest("base64url");
  return `sha-256:${hash}`;
}

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
  /** Absent if an earlier decision covers the call, so that nothing was asked. */
  readonly approvalId?: string;
  readonly toolCallId: string;
  readonly toolName: string;
  /** Of the arguments that are decided on: those that were edited, where they were. */
  readonly digest: string;
  /** Where the answer has other arguments than the call. */
  readonly arguments?: Metadata;
}
