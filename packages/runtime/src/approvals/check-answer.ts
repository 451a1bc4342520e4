import { type JsonObject, isObject } from "@convoke/protocol/internal";
import {
  A2AError,
  type A2APart,
  type Approval,
  type ApprovalAnswer,
  EXTENSIONS,
  type Message,
  answerApproval,
  checkApprovalAnswer as checkForm,
  invalidParams,
  textOfParts,
  textPart,
  toolResult,
} from "@convoke/protocol";
import type { JsonSchema } from "../model/model.ts";
import { jsonSchemaProblems } from "../tools/tool-input.ts";
import type { InterruptAnswer } from "../tools/tool.ts";
import { type OpenRequest, markedData } from "./open-request.ts";

/**
 * Marks an answer that was removed from the log. When a later attempt finds the marker, it asks
 * again.
 */
export const REDACTED = "redacted";

/** How a message relates to the open requests of a task. */
export type Answer =
  | {
      readonly kind: "answers";
      /** By approval id. */
      readonly approvals: ReadonlyMap<string, ApprovalAnswer>;
      /** By request id. */
      readonly inputs: ReadonlyMap<string, InterruptAnswer>;
    }
  /**
   * The message answers nothing: the questions are dropped, and the agent continues with the
   * message.
   */
  | { readonly kind: "superseded" };

export interface AnswerFacts {
  readonly now: Date;
  /** Whether plain text can approve and reject if a single approval is the only open request. */
  readonly acceptPlainText?: boolean;
}

/**
 * Interprets a message in the light of the open requests. It may answer some of them with data
 * parts, or the only one with its text; any other message supersedes them all. An invalid answer
 * (unknown, stale, too late, not offered) throws an `A2AError` that names the field, and no part of
 * that message is used.
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
    const decision = inputData && namedDecision(open, inputData, { field, now: facts.now });
    if (decision !== undefined) {
      approvals.set(decision.approvalId, decision);
      isAnswer = true;
    } else if (inputData !== undefined) {
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

/** Whether a message contains data parts that answer a request. */
export function answersByData({ parts }: Message): boolean {
  return parts.some(
    (part) => approvalAnswerIn(part) !== undefined || inputAnswerIn(part) !== undefined,
  );
}

/** Text next to a rejection becomes its feedback. */
function withWords(answer: ApprovalAnswer, message: Message): ApprovalAnswer {
  const text = textOfParts(message.parts).trim();
  if (answer.option !== "reject" || answer.feedback !== undefined || text === "") return answer;
  return { ...answer, feedback: text };
}

/** A message without answer data answers the only open request, or supersedes all open requests. */
function plainAnswer(
  open: readonly OpenRequest[],
  message: Message,
  { acceptPlainText = false }: AnswerFacts,
): Answer {
  const [only, ...others] = open;
  if (only === undefined || others.length > 0) return { kind: "superseded" };
  // Text cannot be the result of a client-side tool.
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
  const decision = plainDecision(only.approval, message.parts, acceptPlainText);
  if (decision === undefined) return { kind: "superseded" };
  const approvals = new Map([[decision.approvalId, decision]]);
  return { kind: "answers", approvals, inputs: new Map() };
}

function approvalAnswerIn(part: A2APart): JsonObject | undefined {
  const data = fieldsOf(part);
  const isMarked = markedData(part, EXTENSIONS.approvals.uri, "approval-answer") !== undefined;
  return isMarked || data?.["approvalId"] !== undefined ? (data ?? {}) : undefined;
}

/** `{ requestId, … }`, or a tool result in the format of early documents. */
function inputAnswerIn(part: A2APart): JsonObject | undefined {
  const data = fieldsOf(part);
  const isMarked = markedData(part, EXTENSIONS.clientTools.uri, "tool-result") !== undefined;
  const isNamed = data?.["requestId"] !== undefined || data?.["toolUseId"] !== undefined;
  return isMarked || isNamed ? (data ?? {}) : undefined;
}

function fieldsOf(part: A2APart): JsonObject | undefined {
  if (part.kind !== "data" || typeof part.data !== "object" || part.data === null) return undefined;
  return part.data as JsonObject;
}

const REJECTING_WITH_WHY = /^reject[\s:,.]+(\S[^]*)$/i;

const REJECTING: ReadonlySet<string> = new Set(["reject", "no"]);

const APPROVING: ReadonlySet<string> = new Set(["approve", "yes"]);

/**
 * The decision of a text-only message, if it is exactly one of the known words; "yes, but" is an
 * ordinary message. Even if plain text is not accepted, a bare rejection counts, because the call
 * does not run either way.
 */
function plainDecision(
  { id: approvalId, digest, options }: Approval,
  parts: readonly A2APart[],
  acceptPlainText: boolean,
): ApprovalAnswer | undefined {
  if (parts.some(({ kind }) => kind !== "text")) return undefined;
  const text = textOfParts(parts).trim();
  const word = text.toLowerCase();
  if (REJECTING.has(word)) return { approvalId, digest, option: "reject" };
  if (!acceptPlainText) return undefined;
  const feedback = REJECTING_WITH_WHY.exec(text)?.[1];
  if (feedback !== undefined) return { approvalId, digest, option: "reject", feedback };
  const isApproved = APPROVING.has(word) && options.includes("once");
  return isApproved ? { approvalId, digest, option: "once" } : undefined;
}

/**
 * The decision of an answer that names an approval by `requestId` or `toolUseId`, as early documents
 * answer every request: its value is one of the options, or one of the known words.
 */
function namedDecision(
  open: readonly OpenRequest[],
  data: JsonObject,
  { field, now }: { readonly field: string; readonly now: Date },
): ApprovalAnswer | undefined {
  const id = data["requestId"] ?? data["toolUseId"];
  const request = open.find((one) => one.kind === "approval" && one.requestId === id);
  if (request?.kind !== "approval") return undefined;
  const { approval } = request;
  const text = answerText(data).trim();
  const options = approval.options.filter((option) => option !== "edit");
  const option = options.find((word) => word === text.toLowerCase());
  const answer =
    option === undefined
      ? plainDecision(approval, [textPart(text)], true)
      : { approvalId: approval.id, digest: approval.digest, option };
  if (answer === undefined) throw invalidParams(field, `must answer with ${options.join(", ")}`);
  answerApproval(approval, { answer, field, by: "", now });
  return answer;
}

/** Validates an answer to an open approval. Throws an error that explains why it is invalid. */
function checkApprovalAnswer(
  open: readonly OpenRequest[],
  data: JsonObject,
  { field, now }: { readonly field: string; readonly now: Date },
): ApprovalAnswer {
  const { approvalId } = data;
  const request = open.find(
    ({ kind, requestId }) => kind === "approval" && requestId === approvalId,
  );
  if (request === undefined && typeof approvalId === "string") throw notOpen(field, approvalId);
  const answer = checkForm(data, field);
  const approval = request?.kind === "approval" ? request.approval : undefined;
  // The approver's name is added when the decision is recorded.
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

interface Place {
  readonly field: string;
  /** Where the answer was found: one part of the message, or all of them. */
  readonly part?: A2APart;
  readonly parts?: readonly A2APart[];
}

/**
 * Extracts the answer to a question or a sign-in, or the result of a tool that the caller ran.
 * Returns no answer for a sensitive one of which only the placeholder is left.
 */
function inputAnswer(
  open: readonly OpenRequest[],
  data: JsonObject,
  place: Place,
): { readonly requestId: string; readonly answer: InterruptAnswer | undefined } {
  const { field } = place;
  const name = data["requestId"] === undefined ? "toolUseId" : "requestId";
  const requestId = data[name];
  const request = open.find((one) => one.kind !== "approval" && one.requestId === requestId);
  if (request === undefined || typeof requestId !== "string") {
    throw invalidParams(`${field}.${name}`, "is nothing that this task waits for");
  }
  if (request.kind === "tool-use") {
    if (name === "requestId") {
      throw invalidParams(`${field}.requestId`, "is a tool's call: send its result by toolUseId");
    }
    return { requestId, answer: { text: "", parts: [], result: toolResult(data, field) } };
  }
  if (data[REDACTED] === true) return { requestId, answer: undefined };
  const text = answerText(data);
  const parts = place.parts ?? (place.part === undefined ? [] : [place.part]);
  if (request.kind === "input" && request.schema !== undefined) {
    checkSchema(request.schema, valuesIn(parts, requestId), field);
  }
  const options = request.kind === "input" ? request.options : undefined;
  if (options === undefined) return { requestId, answer: { text, parts } };
  const given = text.trim().toLowerCase();
  const chosen = options.find((option) => option.toLowerCase() === given);
  if (chosen === undefined) {
    throw invalidParams(field, `must answer with one of ${options.join(", ")}`);
  }
  return { requestId, answer: { text: chosen, parts } };
}

/** Throws unless one of the values fits, which are different ways to read the same answer. */
function checkSchema(schema: JsonSchema, values: readonly unknown[], field: string): void {
  let problems: readonly string[] = ["value: is required"];
  for (const value of values) {
    problems = jsonSchemaProblems(schema, value, "value");
    if (problems.length === 0) return;
  }
  throw invalidParams(field, `does not fit what was asked for: ${problems.join("; ")}`);
}

/** Whether only a placeholder is left of the answer to a request. */
export function isRedacted({ parts }: Message, requestId: string): boolean {
  return parts.some((part) => {
    const data = fieldsOf(part);
    return data?.["requestId"] === requestId && data[REDACTED] === true;
  });
}

/**
 * The ways to read the answer to a request as a value, the last one being the most likely: the value
 * that a part sends for the id, otherwise data, otherwise the text, which may be JSON.
 */
export function answerValues({ parts }: Message, requestId: string): readonly unknown[] {
  return valuesIn(parts, requestId);
}

function valuesIn(parts: readonly A2APart[], requestId: string): readonly unknown[] {
  for (const part of parts) {
    const data = inputAnswerIn(part);
    if (data === undefined || (data["requestId"] ?? data["toolUseId"]) !== requestId) continue;
    const { value, text, result } = data;
    const given = value ?? text;
    if (given !== undefined) return [given];
    // Early documents wrap the value once more.
    return isObject(result) && "value" in result ? [result, result["value"]] : [result];
  }
  const data = parts.flatMap((part) => (part.kind === "data" ? [part.data] : []));
  if (data.length > 0) return data;
  const text = textOfParts(parts).trim();
  try {
    return [text, JSON.parse(text)];
  } catch {
    return [text];
  }
}

/** The text of an answer, from whichever field holds it; any other value as JSON. */
function answerText(data: JsonObject): string {
  const { value, text, result, error } = data;
  const inner = (result as { readonly value?: unknown } | null | undefined)?.value;
  const given = value ?? text ?? inner ?? result ?? error;
  if (given === undefined) return "";
  return typeof given === "string" ? given : JSON.stringify(given);
}
