import { type JsonObject, isObject } from "../internal/json.ts";
import { A2AError, invalidParams } from "../model/errors.ts";
import type { Message } from "../model/message.ts";
import { type Task, isInterrupted } from "../model/task.ts";
import type { Approval, ApprovalAnswer, ApprovalDecision } from "./approvals.ts";
import { EXTENSIONS, extensionData } from "./extensions.ts";

/**
 * `message.metadata["<uri>"]` of a question to a caller that has not activated the extension: the
 * same data as in `approval-request` parts, where a client that displays parts does not show it.
 */
export interface ApprovalRequests {
  readonly requests: readonly Approval[];
}

/** The approvals in a message: as data parts, or in its metadata. */
export function approvalsIn({ parts, metadata }: Pick<Message, "parts" | "metadata">): {
  readonly inParts: readonly Approval[];
  readonly inMetadata: readonly Approval[];
} {
  const { uri } = EXTENSIONS.approvals;
  const inParts = parts.flatMap((part) => {
    const mark = fieldsOf(extensionData(part.metadata, uri));
    return part.kind === "data" && mark["type"] === "approval-request" ? [part.data] : [];
  });
  const { requests } = fieldsOf(extensionData(metadata, uri));
  const inMetadata: readonly unknown[] = Array.isArray(requests) ? requests : [];
  return { inParts: inParts.filter(isApproval), inMetadata: inMetadata.filter(isApproval) };
}

/** The approvals that a task waits for, without those that have expired. */
export function openApprovals({ status }: Task, at: Date): readonly Approval[] {
  if (status.message === undefined || !isInterrupted(status.state)) return [];
  const { inParts, inMetadata } = approvalsIn(status.message);
  return [...inParts, ...inMetadata].filter(
    ({ decision, expiresAt }) =>
      decision === undefined && (expiresAt === undefined || Date.parse(expiresAt) > at.getTime()),
  );
}

/** Checks only what is needed to identify and display an approval; its sender has checked the rest. */
function isApproval(data: unknown): data is Approval {
  const { id, tool } = fieldsOf(data);
  return typeof id === "string" && typeof tool === "object" && tool !== null;
}

function fieldsOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** An answer and its context. */
interface AnswerContext {
  readonly answer: ApprovalAnswer;
  /** The path of the answer in the request, for errors: `message.parts[0].data`. */
  readonly field: string;
  /** The authenticated caller who answers. */
  readonly by: string;
  readonly now: Date;
}

/**
 * Turns an answer into a decision. Throws if the task has no such approval, if it is decided
 * already or has expired, or if its arguments are not those that were displayed.
 */
export function answerApproval(
  approval: Approval | undefined,
  { answer, field, by, now }: AnswerContext,
): ApprovalDecision {
  const { approvalId, option, feedback } = answer;
  if (approval === undefined) throw unusable(field, approvalId, "is no approval of this task");
  const { decision, expiresAt, options } = approval;
  if (decision !== undefined) {
    throw unusable(
      field,
      approvalId,
      `is ${decision.outcome} already, since ${decision.decidedAt}`,
    );
  }
  if (expiresAt !== undefined && Date.parse(expiresAt) <= now.getTime()) {
    throw unusable(field, approvalId, `has expired at ${expiresAt}`);
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

function unusable(field: string, approvalId: string, problem: string): A2AError {
  return new A2AError(
    "InvalidParams",
    `${field}.approvalId ${JSON.stringify(approvalId)} ${problem}`,
    {
      field: `${field}.approvalId`,
      details: { approvalId },
    },
  );
}
