import {
  type A2APart,
  type Approval,
  type ApprovalAnswer,
  EXTENSIONS,
  invalidParams,
  type Message,
  textOfParts,
} from "@convoke/protocol";
import type { InterruptAnswer } from "../tools/tool.ts";
import { checkApprovalAnswer } from "./check-approval-answer.ts";
import { inputAnswer } from "./input-answer.ts";
import { type OpenRequest, markedData } from "./open-request.ts";

const APPROVING: ReadonlySet<string> = new Set(["approve", "yes"]);

const REJECTING: ReadonlySet<string> = new Set(["reject", "no"]);

const REJECTING_WITH_WHY = /^reject[\s:,.]+(\S[^]*)$/i;

/** What a message is to a task that waits. */
export type Answer =
  | {
      readonly kind: "answers";
      /** By the id of the approval. */
      readonly approvals: ReadonlyMap<string, ApprovalAnswer>;
      /** By the id of the request. */
      readonly inputs: ReadonlyMap<string, InterruptAnswer>;
    }
  /** It answers nothing: what was asked is given up, and the agent goes on with the message. */
  | { readonly kind: "superseded" };

export interface AnswerFacts {
  readonly now: Date;
  /** Whether plain words approve and reject, when one approval and nothing else is open. */
  readonly plainWords?: boolean;
}

/**
 * Reads a message by what is open. It may answer some requests by data parts,
 * or the only one by its text; any other message supersedes them all. An answer
 * that does not fit (unknown, stale, too late, not offered) is an `A2AError`
 * that names the field, and nothing of such a message counts.
 */
export function checkAnswer(
  open: readonly OpenRequest[],
  message: Message,
  facts: AnswerFacts,
): Answer {
  const approvals = new Map<string, ApprovalAnswer>();
  const inputs = new Map<string, InterruptAnswer>();
  let isAnswer = false;
  for (const [place, part] of message.parts.entries()) {
    const field = `message.parts[${place}].data`;
    const approvalData = approvalAnswerIn(part);
    if (approvalData !== undefined) {
      const answer = checkApprovalAnswer(open, approvalData, { field, now: facts.now });
      if (approvals.has(answer.approvalId)) {
        throw invalidParams(`${field}.approvalId`, "is answered twice in this message");
      }
      approvals.set(answer.approvalId, withWords(answer, message));
      isAnswer = true;
    }
    const inputData = inputAnswerIn(part);
    if (inputData !== undefined) {
      const { requestId, answer } = inputAnswer(open, inputData, { field, part });
      if (answer?.result !== undefined && inputs.has(requestId)) {
        throw invalidParams(`${field}.toolUseId`, "is answered twice in this message");
      }
      if (answer !== undefined) inputs.set(requestId, answer);
      isAnswer = true;
    }
  }
  return isAnswer ? { kind: "answers", approvals, inputs } : plainAnswer(open, message, facts);
}

/** Whether a message has data that answer something. */
export function answersByData({ parts }: Message): boolean {
  return parts.some(
    (part) => approvalAnswerIn(part) !== undefined || inputAnswerIn(part) !== undefined,
  );
}

/** Words beside a refusal are its feedback. */
function withWords(answer: ApprovalAnswer, message: Message): ApprovalAnswer {
  const text = textOfParts(message.parts).trim();
  if (answer.option !== "reject" || answer.feedback !== undefined || text === "") return answer;
  return { ...answer, feedback: text };
}

/** A message without data answers the only open request, or supersedes what is open. */
function plainAnswer(
  open: readonly OpenRequest[],
  message: Message,
  { plainWords = false }: AnswerFacts,
): Answer {
  const [only, ...others] = open;
  if (only === undefined || others.length > 0) return { kind: "superseded" };
  // Words are no result of a tool.
  if (only.kind === "tool-use") return { kind: "superseded" };
  if (only.kind !== "approval") {
    const text = textOfParts(message.parts);
    const data = { requestId: only.requestId, value: text };
    const { answer } = inputAnswer(open, data, { field: "message.parts", parts: message.parts });
    return {
      kind: "answers",
      approvals: new Map(),
      inputs: new Map(answer && [[only.requestId, answer]]),
    };
  }
  const decision = plainDecision(only.approval, message.parts, plainWords);
  if (decision === undefined) return { kind: "superseded" };
  const approvals = new Map([[decision.approvalId, decision]]);
  return { kind: "answers", approvals, inputs: new Map() };
}

type Fields = Readonly<Record<string, unknown>>;

function approvalAnswerIn(part: A2APart): Fields | undefined {
  const data = fieldsOf(part);
  const isMarked = markedData(part, EXTENSIONS.approvals.uri, "approval-answer") !== undefined;
  return isMarked || data?.["approvalId"] !== undefined ? (data ?? {}) : undefined;
}

/** `{ requestId, … }`, or the result of a tool in the words of early documents. */
function inputAnswerIn(part: A2APart): Fields | undefined {
  const data = fieldsOf(part);
  const isMarked = markedData(part, EXTENSIONS.clientTools.uri, "tool-result") !== undefined;
  const isNamed = data?.["requestId"] !== undefined || data?.["toolUseId"] !== undefined;
  return isMarked || isNamed ? (data ?? {}) : undefined;
}

function fieldsOf(part: A2APart): Fields | undefined {
  if (part.kind !== "data" || typeof part.data !== "object" || part.data === null) return undefined;
  return part.data as Fields;
}

/**
 * The decision of a message that has nothing but words, if it is exactly the word for one: "yes,
 * but" is another message. Where plain words do not count, a bare refusal still refuses, because
 * the call does not run either way.
 */
function plainDecision(
  { id: approvalId, digest, options }: Approval,
  parts: readonly A2APart[],
  plainWords: boolean,
): ApprovalAnswer | undefined {
  if (parts.some(({ kind }) => kind !== "text")) return undefined;
  const text = textOfParts(parts).trim();
  const word = text.toLowerCase();
  if (REJECTING.has(word)) return { approvalId, digest, option: "reject" };
  if (!plainWords) return undefined;
  const feedback = REJECTING_WITH_WHY.exec(text)?.[1];
  if (feedback !== undefined) return { approvalId, digest, option: "reject", feedback };
  const isApproved = APPROVING.has(word) && options.includes("once");
  return isApproved ? { approvalId, digest, option: "once" } : undefined;
}
