import type { Approval, ApprovalAnswer, DataPart, Task } from "@convoke/protocol";
import { openRequestsOf } from "@convoke/runtime";

const URI = "https://convoke.dev/extensions/approvals/v1";

/** The pending approvals of a task. */
export function openApprovals(task: Task): readonly Approval[] {
  return openRequestsOf(task).flatMap((request) =>
    request.kind === "approval" ? [request.approval] : [],
  );
}

/** The part that answers an approval. */
export function answerTo(
  { id: approvalId, digest }: Approval,
  answer: Partial<ApprovalAnswer> & Pick<ApprovalAnswer, "option">,
): DataPart {
  return {
    kind: "data",
    data: { approvalId, digest, ...answer },
    metadata: { [URI]: { type: "approval-answer" } },
  };
}
