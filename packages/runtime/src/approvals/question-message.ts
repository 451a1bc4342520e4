import {
  type A2APart,
  type Approval,
  EXTENSIONS,
  type Message,
  agentMessage,
  approvalQuestion,
  textPart,
} from "@convoke/protocol";
import { type OpenRequest, markedPart } from "./open-request.ts";

interface QuestionFacts {
  readonly messageId: string;
  /** What was wrong with the last answer. */
  readonly problem?: string | undefined;
  /** The extensions that the caller has activated. */
  readonly extensions: ReadonlySet<string>;
  /** As in `AnswerFacts`. Default: if the caller has not activated the extension. */
  readonly acceptPlainText?: boolean | undefined;
}

/** Creates the message that asks for all open requests: text for people, and data for programs. */
export function questionMessage(open: readonly OpenRequest[], facts: QuestionFacts): Message {
  const { messageId, problem, extensions } = facts;
  const isPlain = readsWordsOnly(extensions);
  const { acceptPlainText = isPlain } = facts;
  const before = problem === undefined ? [] : [`${problem}\n`];
  const after = isPlain ? howToAnswer(open, acceptPlainText) : [];
  const text = [...before, ...questionLines(open), ...after];
  const asked = open.flatMap((request) => (request.kind === "approval" ? [request.approval] : []));
  const others = open.flatMap(inputPart);
  return withApprovals(agentMessage(messageId, [textPart(text.join("\n")), ...others]), {
    approvals: asked,
    isPlain,
  });
}

const { approvals, clientTools } = EXTENSIONS;

/**
 * Adds the approvals in machine-readable form. They become data parts if the caller has activated
 * the extension. Other callers would show such parts to a person or a model unchanged, so for them
 * the approvals are in the metadata.
 */
export function withApprovals(
  message: Message,
  facts: { readonly approvals: readonly Approval[]; readonly isPlain: boolean },
): Message {
  const { uri } = approvals;
  if (facts.approvals.length === 0) return message;
  if (facts.isPlain) {
    return { ...message, metadata: { ...message.metadata, [uri]: { requests: facts.approvals } } };
  }
  const parts = facts.approvals.map((approval) => markedPart(uri, "approval-request", approval));
  return { ...message, parts: [...message.parts, ...parts] };
}

/** Whether the caller has not activated the extension, and so can only read and answer text. */
export function readsWordsOnly(extensions: ReadonlySet<string>): boolean {
  return !extensions.has(approvals.uri);
}

function questionLines(open: readonly OpenRequest[]): readonly string[] {
  const questions = open.map(questionText);
  return questions.length === 1
    ? questions
    : questions.map((question, place) => `${place + 1}. ${question}`);
}

function questionText(request: OpenRequest): string {
  if (request.kind === "approval") return approvalQuestion(request.approval);
  if (request.kind === "auth") {
    return request.url === undefined ? request.prompt : `${request.prompt}\n${request.url}`;
  }
  if (request.kind === "tool-use") return `Run ${request.name} and send its result.`;
  const { prompt, options } = request;
  return options === undefined ? prompt : `${prompt} (${options.join(" / ")})`;
}

/** Instructions for callers that only support text: what `checkAnswer` accepts from them. */
function howToAnswer(open: readonly OpenRequest[], acceptPlainText: boolean): readonly string[] {
  const request = open.find(({ kind }) => kind === "approval");
  if (request?.kind !== "approval") return [];
  if (open.length > 1) {
    return [
      "Words give all of these up. Each is answered by its id, as this agent's approvals say.",
    ];
  }
  const rejecting = acceptPlainText ? '"reject" and why' : '"reject"';
  const canApprove = acceptPlainText && request.approval.options.includes("once");
  const how = canApprove
    ? `Answer "approve", or ${rejecting}.`
    : `Words cannot approve it: it is approved by its id, as this agent's approvals say. Answer ${rejecting} to reject it.`;
  return [`${how} Anything else is a new message, and it is not run.`];
}

function inputPart(request: OpenRequest): readonly A2APart[] {
  if (request.kind === "approval") return [];
  if (request.kind === "tool-use") {
    const { requestId: toolUseId, name, input } = request;
    return [markedPart(clientTools.uri, "tool-use", { toolUseId, name, input })];
  }
  const { kind, ...rest } = request;
  return [markedPart(clientTools.uri, "input-request", { kind: `${kind}-request`, ...rest })];
}
