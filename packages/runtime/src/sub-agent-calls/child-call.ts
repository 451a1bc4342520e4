import { type Budget, type Task, readBudget } from "@convoke/protocol";
import type { NotedCall } from "../run/loop-journal.ts";
import type { DelegatedUsage, Interrupt, InterruptAnswer } from "../tools/tool.ts";
import {
  type QuestionFacts,
  UnfitQuestion,
  isAnswered,
  relayedQuestion,
} from "./child-question.ts";
import type { ChildQuestion, SentCall } from "../sub-agents/sub-agent-events.ts";

/** The task of a sub-agent. */
export interface Child {
  readonly taskId: string;
  readonly contextId: string;
}

/** One that asks more often does not want to know anything. */
const MAX_QUESTIONS = 100;

/** What is known of one call of a sub-agent, over its rounds: by the journal, and by this attempt. */
export class ChildCall {
  /** The message to the sub-agent, once it may have been sent. */
  sent: SentCall | undefined;
  child: Child | undefined;
  /** It continues the conversation that this context has had with the sub-agent. */
  isInConversation: boolean;
  readonly questions: ChildQuestion[];
  /** What the sub-agent says it used, once it has ended. */
  used: DelegatedUsage | undefined;
  /** The sub-agent has ended, or is being canceled: nothing more is to be done about it. */
  isSettled: boolean;
  /** A crash cut the last round, so it is unknown what the sub-agent received. */
  isCut: boolean;
  /** How often the last question was found again, unchanged. */
  #repeats = 0;

  constructor({ starts, interrupts, complete, subAgent }: NotedCall) {
    const { call, task, questions = [] } = subAgent ?? {};
    this.sent = call;
    this.isInConversation = call !== undefined;
    this.child = task && { taskId: task.childTaskId, contextId: task.childContextId };
    this.questions = [...questions];
    this.used = complete?.used;
    this.isSettled = complete !== undefined;
    const start = starts.at(-1);
    this.isCut = start !== undefined && interrupts.at(-1)?.round !== start.round;
  }

  /** The part of the budget reserved for it: what it was given, or what it used of that. */
  get claim(): Pick<Budget, "tokens" | "costUsd"> {
    return this.used ?? readBudget(this.sent?.handed) ?? {};
  }

  /** The question that was asked last. */
  get question(): ChildQuestion | undefined {
    return this.questions.at(-1);
  }

  /**
   * What is open of the question with which the sub-agent waits. One that was asked before keeps
   * its number and the answers that it has; any other is to be noted.
   */
  ask(
    task: Task,
    answers: ReadonlyMap<string, InterruptAnswer>,
    facts: Omit<QuestionFacts, "number">,
  ): { readonly interrupts: readonly Interrupt[]; readonly noted?: ChildQuestion } {
    const last = this.question;
    const isSame = last !== undefined && last.messageId === task.status.message?.messageId;
    const isAgain = isSame && !isAnswered(last, answers);
    const number = isAgain ? last.number : this.questions.length + 1;
    if (number > MAX_QUESTIONS) throw new UnfitQuestion(`it asked ${MAX_QUESTIONS} times`);
    // A sub-agent that repeats the same question would keep its caller polling forever.
    this.#repeats = isAgain ? this.#repeats + 1 : 0;
    if (this.#repeats > MAX_QUESTIONS) {
      throw new UnfitQuestion(`it asked the same ${MAX_QUESTIONS} times, and said that it went on`);
    }
    const { interrupts, ...noted } = relayedQuestion(task, { ...facts, number });
    if (isAgain) return { interrupts: interrupts.filter((one) => !answers.has(one.requestId)) };
    this.questions.push(noted);
    return { interrupts, noted };
  }
}
