import {
  APPROVAL_OPTIONS,
  type A2APart,
  type Approval,
  type ApprovalAnswer,
  type DataPart,
  EXTENSIONS,
  type Message,
  type Metadata,
  type Task,
  approvalsIn,
  dataOfType,
  invalidParams,
  isInterrupted,
} from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import { detailsOf } from "../events/call-details.ts";
import { withEditedContent } from "../tools/edited-content.ts";
import type { CallReply, CoderDialect } from "./coder-dialect.ts";

/**
 * Converts replies to confirmations, in the form of any dialect, to approval answers and to answers
 * to questions. A message without replies is returned as it is. A reply to a call that does not wait
 * is rejected with an error that names the field.
 */
export function translateReplies(
  dialects: readonly CoderDialect[],
  message: Message,
  task: Task,
): Message {
  let hasReplies = false;
  const parts = message.parts.map((part, place): A2APart => {
    if (part.kind !== "data" || !isObject(part.data)) return part;
    const field = `message.parts[${place}].data`;
    for (const { readReply } of dialects) {
      const reply = readReply(part.data, field);
      if (reply === undefined) continue;
      hasReplies = true;
      return answerPart(reply, { task, field });
    }
    return part;
  });
  return hasReplies ? { ...message, parts } : message;
}

function answerPart(
  reply: CallReply,
  { task, field }: { readonly task: Task; readonly field: string },
): DataPart {
  const { callId } = reply;
  const approval = approvalsOf(task).find(({ tool }) => tool.callId === callId);
  if (approval !== undefined) {
    const { uri } = EXTENSIONS.approvals;
    const data = approvalAnswer(reply, approval, field);
    return { kind: "data", data, metadata: { [uri]: { type: "approval-answer" } } };
  }
  const question = questionsOf(task).find(({ toolCallId }) => toolCallId === callId);
  if (question === undefined) {
    const given = JSON.stringify(callId);
    throw invalidParams(reply.fields.callId, `${given} is no call that waits in this task`);
  }
  return { kind: "data", data: { requestId: question.requestId, value: answerOf(reply) } };
}

function approvalsOf({ status }: Task): readonly Approval[] {
  if (status.message === undefined || !isInterrupted(status.state)) return [];
  const { inParts, inMetadata } = approvalsIn(status.message);
  return [...inParts, ...inMetadata].filter(({ decision }) => decision === undefined);
}

interface Question {
  readonly requestId: string;
  readonly toolCallId: string;
}

function questionsOf({ status }: Task): readonly Question[] {
  if (status.message === undefined || !isInterrupted(status.state)) return [];
  const asked = dataOfType(status.message, EXTENSIONS.clientTools.uri, "input-request");
  return asked.map(({ data }) => data as Question);
}

const NO_ANSWER = "The user did not answer.";

function answerOf({ answer, option }: CallReply): string {
  if (answer !== undefined) return answer;
  return option === "reject" ? NO_ANSWER : option;
}

function approvalAnswer(reply: CallReply, approval: Approval, field: string): ApprovalAnswer {
  const { newContent, feedback } = reply;
  const { id: approvalId, digest, options } = approval;
  const option = APPROVAL_OPTIONS.find((one) => one === reply.option);
  if (option === undefined || !options.includes(option)) {
    const offered = options.filter((one) => one !== "edit").join(", ");
    throw invalidParams(
      reply.fields.option,
      `is not offered for this call, which takes ${offered}`,
    );
  }
  const edited = newContent === undefined ? undefined : withContent(approval, newContent, field);
  return {
    approvalId,
    digest,
    option: edited === undefined ? option : "edit",
    ...(edited && { arguments: edited }),
    ...(feedback !== undefined && { feedback }),
  };
}

/** The arguments of a call with the content that the caller wants. Undefined if that changes nothing. */
function withContent(approval: Approval, content: string, field: string): Metadata | undefined {
  const details = detailsOf(approval);
  const name = details.type === "edit" ? details.contentArgument : undefined;
  const edited =
    name === undefined
      ? withEditedContent(approval, content)
      : { ...approval.tool.arguments, [name]: content };
  if (edited === undefined || !approval.options.includes("edit")) {
    throw invalidParams(`${field}.newContent`, "goes with a change of a file that can be edited");
  }
  const isSame = details.type === "edit" && details.newContent === content;
  return isSame ? undefined : edited;
}
