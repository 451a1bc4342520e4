import {
  type Approval,
  type Metadata,
  type Turn,
  approvalQuestion,
  textOfParts,
} from "@convoke/protocol";
import { checkAnswer } from "../approvals/check-answer.ts";
import { askApproval } from "../approvals/gate.ts";
import { approvalRequest } from "../approvals/open-request.ts";
import { questionMessage, readsWordsOnly } from "../approvals/question-message.ts";
import type { ApprovalWords } from "../tools/tool.ts";
import type { Takers } from "./turn-promise.ts";
import type { AnswerReader, Waits } from "./waits.ts";

/** A call that the caller has to approve. */
export interface CallToApprove extends ApprovalWords {
  readonly toolName: string;
  readonly arguments: Metadata;
  /** Default: the id of the request. */
  readonly toolCallId?: string;
}

export interface CallDecision {
  readonly isApproved: boolean;
  /** Why it was rejected, if the caller says so. */
  readonly feedback?: string;
}

/**
 * Asks the caller to approve a call, and waits for the decision for as long as it takes. Clients
 * show it like the approval of a model's tool call. A message that decides nothing rejects the call,
 * and is its feedback.
 *
 * @example
 * const { isApproved } = await approve({ toolName: "refund", arguments: { order: "1001" } });
 */
export type Approve = (call: CallToApprove) => Promise<CallDecision>;

/** Asks for the decision on a call. */
export function decisionOn(
  call: CallToApprove,
  { waits, takers }: { readonly waits: Waits; readonly takers: Takers },
  { extensions, now }: Pick<Turn, "extensions" | "now">,
): Promise<CallDecision> {
  const approvalFor = (id: string): Approval => toApproval(call, id, now());
  const question = {
    state: "input-required",
    prompt: approvalQuestion(approvalFor("")),
    toMessage: (requestId: string, facts: { messageId: string; problem?: string | undefined }) =>
      questionMessage([approvalRequest(approvalFor(requestId))], { ...facts, extensions }),
  } as const;
  const read: AnswerReader<CallDecision> = async (message, requestId) => {
    const open = [approvalRequest(approvalFor(requestId))];
    const acceptPlainText = readsWordsOnly(extensions);
    const answer = checkAnswer(open, message, { now: now(), acceptPlainText });
    const decision = answer.kind === "answers" ? answer.approvals.get(requestId) : undefined;
    const isApproved = decision?.option === "once";
    const said = decision === undefined ? textOfParts(message.parts) : (decision.feedback ?? "");
    return { ok: true, value: { isApproved, ...(said !== "" && { feedback: said }) } };
  };
  return waits.forCaller(question, read, takers);
}

/** The function decides what an approval means, so it can be neither edited nor kept for later. */
function toApproval(call: CallToApprove, id: string, now: Date): Approval {
  const { toolName, arguments: given, toolCallId = id, ...words } = call;
  const facts = { id, toolCallId, toolName, arguments: given, words, now };
  return { ...askApproval(facts), options: ["once", "reject"] };
}
