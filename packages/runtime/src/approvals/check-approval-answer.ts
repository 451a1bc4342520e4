import {
  A2AError,
  type ApprovalAnswer,
  answerApproval,
  checkApprovalAnswer as checkForm,
} from "@convoke/protocol";
import type { OpenRequest } from "./open-request.ts";

type Fields = Readonly<Record<string, unknown>>;

/** An answer that fits an open approval, or an error that says why it does not. */
export function checkApprovalAnswer(
  open: readonly OpenRequest[],
  data: Fields,
  { field, now }: { readonly field: string; readonly now: Date },
): ApprovalAnswer {
  const { approvalId } = data;
  const request = open.find(
    ({ kind, requestId }) => kind === "approval" && requestId === approvalId,
  );
  if (request === undefined && typeof approvalId === "string") throw notOpen(field, approvalId);
  const answer = checkForm(data, field);
  const approval = request?.kind === "approval" ? request.approval : undefined;
  // Who answers is for whoever records the decision to say.
  answerApproval(approval, { answer, field, by: "", now });
  return answer;
}

function notOpen(field: string, approvalId: string): A2AError {
  const problem = "is no open approval of this task: it was decided or given up, or never was";
  return new A2AError(
    "InvalidParams",
    `${field}.approvalId ${JSON.stringify(approvalId)} ${problem}`,
    {
      field: `${field}.approvalId`,
      details: { approvalId },
    },
  );
}
