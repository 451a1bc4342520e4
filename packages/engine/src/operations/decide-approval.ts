import {
  A2AError,
  type ApprovalAnswer,
  EXTENSIONS,
  answerApproval,
  checkApprovalAnswer,
  invalidParams,
  userMessage,
} from "@convoke/protocol";
import { acceptMessage } from "../messages/accept-message.ts";
import { newId } from "../task/new-id.ts";
import type { Call } from "./call.ts";
import { type WaitingApproval, findApprovals } from "./list-approvals.ts";

/** A decision on an approval, by its id. */
export interface ApprovalDecided extends Omit<ApprovalAnswer, "digest"> {
  /** Of the arguments that were shown; by default those that wait are meant. */
  readonly digest?: string | undefined;
  /** Where the approval is, if its id alone does not tell. */
  readonly taskId?: string | undefined;
}

/**
 * Answers an approval wherever it waits. It is the same as the message that its task would be sent,
 * and as such it is taken, or refused, and stored.
 */
export async function decideApproval(
  decided: ApprovalDecided,
  call: Pick<Call, "engine" | "caller" | "trace">,
): Promise<WaitingApproval> {
  const { engine, caller, trace } = call;
  if (engine.isDraining) throw new A2AError("Unavailable", "the server is stopping");
  const waiting = await theOne(decided, call);
  const { approval, contextId } = waiting;
  const { taskId: _, ...given } = decided;
  const data = { ...given, digest: decided.digest ?? approval.digest };
  const field = "body";
  const answer = checkApprovalAnswer(data, field);
  answerApproval(approval, { answer, field, by: caller.owner, now: new Date(engine.now()) });
  const { uri } = EXTENSIONS.approvals;
  const part = {
    kind: "data",
    data,
    metadata: { [uri]: { type: "approval-answer" } },
  } as const;
  const message = {
    ...userMessage(newId(engine.now()), [part]),
    taskId: waiting.taskId,
    contextId,
  };
  await acceptMessage(engine, { message, caller, trace, extensions: new Set([uri]) });
  return waiting;
}

async function theOne(
  { approvalId, taskId }: ApprovalDecided,
  call: Pick<Call, "engine" | "caller">,
): Promise<WaitingApproval> {
  const found = await findApprovals(approvalId, call);
  const meant = found.filter((waiting) => taskId === undefined || waiting.taskId === taskId);
  const [one, ...others] = meant;
  if (one === undefined) {
    const id = JSON.stringify(approvalId);
    throw invalidParams(
      "id",
      `${id} is no open approval: it was decided or given up, or never was`,
    );
  }
  if (others.length === 0) return one;
  const tasks = meant.map((waiting) => waiting.taskId).join(", ");
  throw invalidParams("taskId", `is required: ${approvalId} is in several of your tasks, ${tasks}`);
}
