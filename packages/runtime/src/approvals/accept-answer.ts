import { type Message, type Task, isInterrupted } from "@convoke/protocol";
import { type AnswerFacts, answersByData, checkAnswer } from "./check-answer.ts";
import { openRequestsOf } from "./open-request.ts";
import { redactAnswer } from "./redact-answer.ts";

/**
 * Looks at a message to a task before anybody stores it. Throws an `A2AError` when its data answer
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
