import type { ApprovalDecidedEvent } from "./approval-events.ts";

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
