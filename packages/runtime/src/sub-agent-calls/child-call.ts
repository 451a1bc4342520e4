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

/** A sub-agent that asks more questions than this in one call is stuck, so the call fails. */
const MAX_QUESTIONS = 100;

/** The state of one sub-agent call across its rounds, from the journal and from this attempt. */
export class ChildCall {
  /**
   * The message to the sub-agent. Set before sending, so the sub-agent may not have received it.
   */
  sent: SentCall | undefined;
  child: Child | undefined;
  /** Whether the call continues the existing conversation of this context with the sub-agent. */
  isInConversation: boolean;
  readonly questions: ChildQuestion[];
  /** The usage that the sub-agent reported when it ended. */
  used: DelegatedUsage | undefined;
  /** The sub-agent has ended or is being canceled, so nothing is left to do for this call. */
  isSettled: boolean;
  /** A crash interrupted the last round, so it is unknown what the sub-agent received. */
  isCut: boolean;
  /** How many times in a row the sub-agent returned with the same unanswered question. */
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

  /**
   * The part of the budget reserved for this call: its actual usage once known, otherwise its
   * share.
   */
  get claim(): Pick<Budget, "tokens" | "costUsd"> {
    return this.used ?? readBudget(this.sent?.handed) ?? {};
  }

  /** The most recent question. */
  get question(): ChildQuestion | undefined {
    return this.questions.at(-1);
  }

  /**
   * Returns the unanswered requests of the question that the sub-agent is waiting on. A question
   * that was asked before keeps its number and the answers it already has; a new one is returned as
   * `noted`, for the caller to record.
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
