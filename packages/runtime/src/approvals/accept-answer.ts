import {
  type A2APart,
  type DataPart,
  type Message,
  type Task,
  isInterrupted,
} from "@convoke/protocol";
import { type AnswerFacts, REDACTED, answersByData, checkAnswer } from "./check-answer.ts";
import { type OpenRequest, isSensitive, openRequestsOf } from "./open-request.ts";

/**
 * Checks a message to a task before it is stored. Throws an `A2AError` if one of its data parts is
 * invalid or answers a request that is not (or no longer) open, or if the answer does not fit the
 * schema of the request. Other plain text is always accepted; if it does not fit, the agent asks
 * again. Returns the message to store, without sensitive content.
 */
export function acceptAnswer(
  task: Task,
  message: Message,
  facts: Pick<AnswerFacts, "now">,
): Message {
  const open = isInterrupted(task.status.state) ? openRequestsOf(task) : [];
  if (answersByData(message) || open.some(hasSchema)) checkAnswer(open, message, facts);
  return redactAnswer(open, message);
}

/**
 * The same for a task of a function agent. While `ask` does not wait, its messages are up to the
 * function, which may have asked in a form of its own.
 */
export function acceptFunctionAnswer(
  task: Task,
  message: Message,
  facts: Pick<AnswerFacts, "now">,
): Message {
  const isAsked = isInterrupted(task.status.state) && openRequestsOf(task).length > 0;
  return isAsked ? acceptAnswer(task, message, facts) : message;
}

/** Whether the task waits for an answer that has to fit a schema. */
export function waitsForSchema(task: Task): boolean {
  return isInterrupted(task.status.state) && openRequestsOf(task).some(hasSchema);
}

function hasSchema(request: OpenRequest): boolean {
  return request.kind === "input" && request.schema !== undefined;
}

/**
 * Returns the message without sensitive content, so that it can be logged. Answers to sensitive
 * requests are replaced by placeholders, and all parts that are not answers are dropped, because
 * they might contain the secret too. A message that answers no sensitive request is returned
 * unchanged.
 */
export function redactAnswer(open: readonly OpenRequest[], message: Message): Message {
  const secret = new Set(open.filter(isSensitive).map(({ requestId }) => requestId));
  if (secret.size === 0) return message;
  const answered = message.parts.map(answeredBy);
  if (answered.some((id) => id !== undefined && secret.has(id))) {
    const parts = message.parts.flatMap((part, place): readonly A2APart[] => {
      const id = answered[place];
      if (id === undefined) return [];
      return [secret.has(id) ? placeholder(id) : part];
    });
    return withParts(message, parts);
  }
  const [only, ...others] = open;
  // Any message answers the only open request, whatever its format.
  return only !== undefined && others.length === 0
    ? withParts(message, [placeholder(only.requestId)])
    : message;
}

/** The id of the request that a part answers, if any. */
function answeredBy(part: A2APart): string | undefined {
  if (part.kind !== "data") return undefined;
  const { requestId, toolUseId, approvalId } = (part.data ?? {}) as Readonly<
    Record<string, unknown>
  >;
  const id = requestId ?? toolUseId ?? approvalId;
  return typeof id === "string" ? id : undefined;
}

function placeholder(requestId: string): DataPart {
  return { kind: "data", data: { requestId, [REDACTED]: true } };
}

/** Keeps only the fields that identify the message, because the others might contain the secret. */
function withParts(message: Message, parts: readonly A2APart[]): Message {
  const { kind, messageId, role, taskId, contextId, referenceTaskIds } = message;
  return {
    kind,
    messageId,
    role,
    parts,
    ...(taskId !== undefined && { taskId }),
    ...(contextId !== undefined && { contextId }),
    ...(referenceTaskIds && { referenceTaskIds }),
  };
}
