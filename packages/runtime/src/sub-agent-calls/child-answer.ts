import { type A2APart, EXTENSIONS, textPart } from "@convoke/protocol";
import { markedPart } from "../approvals/open-request.ts";
import type { InterruptAnswer } from "../tools/tool.ts";
import type { ChildQuestion, ChildRequest } from "../sub-agents/sub-agent-events.ts";

type Answers = ReadonlyMap<string, InterruptAnswer>;

/** Whether everything that was asked has an answer. */
export function isAnswered({ requests }: ChildQuestion, answers: Answers): boolean {
  return requests.every(({ requestId }) => answers.has(requestId));
}

/** The answers to a question as the sub-agent that asked reads them: by its own ids. */
export function answerParts({ requests }: ChildQuestion, answers: Answers): readonly A2APart[] {
  return requests.flatMap((request) => {
    const answer = answers.get(request.requestId);
    return answer === undefined ? [] : partsOf(request, answer);
  });
}

function partsOf(request: ChildRequest, answer: InterruptAnswer): readonly A2APart[] {
  const { kind, childId } = request;
  if (childId === undefined) return inWords(answer);
  if (kind !== "approval") {
    return [{ kind: "data", data: { requestId: childId, value: answer.text } }];
  }
  // Nothing else can answer an approval, and without a decision nothing is decided.
  if (answer.decision === undefined) return [];
  const { option, feedback, arguments: edited } = answer.decision;
  const data = {
    approvalId: childId,
    digest: request.digest,
    option,
    ...(feedback !== undefined && { feedback }),
    ...(edited !== undefined && { arguments: edited }),
  };
  return [markedPart(EXTENSIONS.approvals.uri, "approval-answer", data)];
}

/** Data that name our request say nothing to an agent that asked in words. */
function inWords({ text, parts }: InterruptAnswer): readonly A2APart[] {
  const isOurs = parts.some((part) => part.kind === "data" && isNamed(part.data));
  return isOurs || parts.length === 0 ? [textPart(text)] : parts;
}

function isNamed(data: unknown): boolean {
  return typeof data === "object" && data !== null && "requestId" in data;
}
