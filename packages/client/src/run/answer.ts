import { type Message, type Task, isInterrupted, textOf } from "@convoke/protocol";
import { type Question, questionOf } from "./question.ts";

/** What an agent answered: a task, or one message without a task. */
export interface Answer {
  /** The answer as text; see `textOf`. */
  readonly text: string;
  readonly task?: Task;
  readonly message?: Message;
  /** What the agent wants to know before it goes on. */
  readonly question?: Question;
}

export function answerOf(answer: Task | Message): Answer {
  const text = textOf(answer);
  if (answer.kind === "message") return { text, message: answer };
  if (!isInterrupted(answer.status.state)) return { text, task: answer };
  return { text, task: answer, question: questionOf(answer) };
}
