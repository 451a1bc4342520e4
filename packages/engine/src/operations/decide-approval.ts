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
import { type PendingApproval, findApprovals } from "./list-approvals.ts";

/** A decision on a pending approval. */
export interface ApprovalDecision extends Omit<ApprovalAnswer, "digest"> {
  /** Digest of the arguments the caller has seen. Default: those that are pending. */
  readonly digest?: string | undefined;
  /** The task of the approval, required if several tasks have an approval with this id. */
  readonly taskId?: string | undefined;
}

/**
 * Decides a pending approval of any task of the caller. Equivalent to sending the answer as a
 * message to the task: it is accepted or rejected, and stored, in the same way.
 */
export async function decideApproval(
  decision: ApprovalDecision,
  call: Pick<Call, "engine" | "caller" | "trace">,
): Promise<PendingApproval> {
  const { engine, caller, trace } = call;
  if (engine.isDraining) throw new A2AError("Unavailable", "the server is stopping");
  const waiting = await findApproval(decision, call);
  const { approval, contextId } = waiting;
  const { taskId: _, ...given } = decision;
  const data = { ...given, digest: decision.digest ?? approval.digest };
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

async function findApproval(
  { approvalId, taskId }: ApprovalDecision,
  call: Pick<Call, "engine" | "caller">,
): Promise<PendingApproval> {
  const found = await findApprovals(approvalId, call);
  const matching = found.filter((waiting) => taskId === undefined || waiting.taskId === taskId);
  const [one, ...others] = matching;
  if (one === undefined) {
    const id = JSON.stringify(approvalId);
    throw invalidParams(
      "id",
      `${id} is not a pending approval: it was decided or withdrawn, or never existed`,
    );
  }
  if (others.length === 0) return one;
  const tasks = matching.map((waiting) => waiting.taskId).join(", ");
  throw invalidParams("taskId", `is required: ${approvalId} is in several of your tasks, ${tasks}`);
}
