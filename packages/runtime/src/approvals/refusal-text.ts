import type { ApprovalDecision } from "@convoke/protocol";

/** What the model is told of a call that was not approved. */
export function refusalText({ outcome, feedback }: ApprovalDecision): string {
  if (outcome === "superseded") return "Not run: the user sent a new message instead.";
  if (outcome === "expired") return "Not run: nobody approved it in time.";
  return feedback === undefined
    ? "Not run: the user rejected it."
    : `Not run: the user rejected it, and says: ${feedback}`;
}
