import {
  type A2APart,
  type DataPart,
  type Message,
  type Task,
  isInterrupted,
} from "@convoke/protocol";
import { type AnswerFacts, REDACTED, answersByData, checkAnswer } from "./check-answer.ts";
import { type OpenRequest, openRequestsOf } from "./open-request.ts";

/**
 * Checks a message to a task before it is stored. Throws an `A2AError` when its data answer
 * something that is not open (any more), or do not fit; a person's words are taken, and asked for
 * again where they do not fit. Returns it as the log may keep it, without what is sensitive.
 */
export function acceptAnswer(
  task: Task,
  message: Message,
  facts: Pick<AnswerFacts, "now">,
): Message {
  const open = isInterrupted(task.status.state) ? openRequestsOf(task) : [];
  if (answersByData(message)) checkAnswer(open, message, facts);
  return redactAnswer(open, message);
}

/**
 * The message as a log may keep it: what answers a sensitive request is left
 * out, and so is everything beside it but other answers, because nobody knows
 * what is in it. A message that answers none is returned as it is.
 */
export function redactAnswer(open: readonly OpenRequest[], message: Message): Message {
  const secret = new Set(
    open.flatMap((request) =>
      request.kind === "input" && request.sensitive ? [request.requestId] : [],
    ),
  );
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
  // Whatever its form, a message to the only open request is its answer.
  return only !== undefined && others.length === 0
    ? withParts(message, [placeholder(only.requestId)])
    : message;
}

/** The id of what a part answers, if it answers something. */
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

/** Nothing else of the message but what tells whose it is. */
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
