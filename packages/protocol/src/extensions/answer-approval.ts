import { A2AError, invalidParams } from "../errors.ts";
import type { Approval, ApprovalAnswer, ApprovalDecision } from "./approvals.ts";

/** An answer, and where it stands. */
interface Answering {
  readonly answer: ApprovalAnswer;
  /** The place of the answer in the request, for errors: `message.parts[0].data`. */
  readonly field: string;
  /** Who answers, as the server knows them. */
  readonly by: string;
  readonly now: Date;
}

/**
 * The decision that an answer is, or why it is none: for an approval that the task does not have,
 * that was decided already, that has expired, or whose arguments are not those that were shown.
 */
export function answerApproval(
  approval: Approval | undefined,
  { answer, field, by, now }: Answering,
): ApprovalDecision {
  const { approvalId, option, feedback } = answer;
  if (approval === undefined) throw unfit(field, approvalId, "is no approval of this task");
  const { decision, expiresAt, options } = approval;
  if (decision !== undefined) {
    throw unfit(field, approvalId, `is ${decision.outcome} already, since ${decision.decidedAt}`);
  }
  if (expiresAt !== undefined && Date.parse(expiresAt) <= now.getTime()) {
    throw unfit(field, approvalId, `has expired at ${expiresAt}`);
  }
  if (answer.digest !== approval.digest) {
    throw invalidParams(`${field}.digest`, "is not that of the call that waits; read it again");
  }
  if (!options.includes(option)) {
    throw invalidParams(`${field}.option`, `must be one of ${options.join(", ")}`);
  }
  checkExtras(answer, field);
  return {
    outcome: option === "reject" ? "rejected" : "approved",
    option,
    decidedBy: by,
    decidedAt: now.toISOString(),
    ...(feedback !== undefined && { feedback }),
  };
}

function checkExtras({ option, feedback, arguments: edited }: ApprovalAnswer, field: string): void {
  if (feedback !== undefined && option !== "reject") {
    throw invalidParams(`${field}.feedback`, "goes with the option reject alone");
  }
  if (option === "edit" && edited === undefined) {
    throw invalidParams(`${field}.arguments`, "is required with the option edit");
  }
  if (option !== "edit" && edited !== undefined) {
    throw invalidParams(`${field}.arguments`, "goes with the option edit alone");
  }
}

function unfit(field: string, approvalId: string, problem: string): A2AError {
  return new A2AError(
    "InvalidParams",
    `${field}.approvalId ${JSON.stringify(approvalId)} ${problem}`,
    {
      field: `${field}.approvalId`,
      details: { approvalId },
    },
  );
}
