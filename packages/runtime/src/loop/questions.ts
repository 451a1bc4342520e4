import { type Message, isFinal } from "@convoke/protocol";
import type { OpenRequest } from "../approvals/open-request.ts";
import { questionMessage } from "../approvals/question-message.ts";
import { stopped } from "../tools/stoppable.ts";
import type { LoopScope } from "./loop-scope.ts";

/** What came of a question. */
export interface Reply {
  /** Absent when nobody answered in time. */
  readonly message: Message | undefined;
  readonly at: Date;
  /** Where the journal has it. */
  readonly place: number;
  /** What was open when it was asked. */
  readonly requests: readonly OpenRequest[];
}

/** Asks the caller and waits, by the journal: what was answered in an earlier attempt is not asked again. */
export class Questions {
  readonly #scope: LoopScope;
  readonly #onWait: (isWaiting: boolean) => void;
  #count = 0;
  /** An earlier attempt noted the question that comes next, and may not have come to ask it. */
  #isNoted = false;

  /** `onWait` hears when work rests and when it goes on. */
  constructor(scope: LoopScope, onWait: (isWaiting: boolean) => void) {
    this.#scope = scope;
    this.#onWait = onWait;
  }

  /** What was answered in this iteration already, in order. */
  answered(iteration: number): readonly Reply[] {
    return this.#scope.journal.waits(iteration).flatMap(({ ask, end }) => {
      this.#count += 1;
      this.#isNoted = end === undefined;
      if (end === undefined) return [];
      this.#scope.clock.addWait(new Date(ask.timestamp), end.at);
      return [{ ...end, requests: ask.requests }];
    });
  }

  /** Asks for what is open, and resolves to what comes next. */
  async ask(
    iteration: number,
    open: readonly OpenRequest[],
    problem: string | undefined,
  ): Promise<Reply> {
    const { turn, signal, clock } = this.#scope;
    const requests = askedTogether(open);
    const askedAt = turn.now();
    const until = firstExpiry(requests);
    if (!this.#isNoted) {
      this.#count += 1;
      this.#scope.note({
        kind: "internal:ask",
        iteration,
        requests,
        ...(until && { until: until.toISOString() }),
      });
    }
    this.#isNoted = false;
    this.#sayQuestion(requests, problem);
    await this.#scope.durable();
    this.#onWait(true);
    const message = await stopped(turn.park(until), signal);
    this.#onWait(false);
    const at = turn.now();
    clock.addWait(askedAt, at);
    return { message, at, place: Number.POSITIVE_INFINITY, requests };
  }

  #sayQuestion(requests: readonly OpenRequest[], problem: string | undefined): void {
    const { turn, runId } = this.#scope;
    const { extensions } = turn;
    const { id: taskId, contextId } = turn.task;
    const isAuth = requests.every(({ kind }) => kind === "auth");
    const state = isAuth ? "auth-required" : "input-required";
    const messageId = `${runId}-ask-${this.#count}`;
    const message = questionMessage(requests, { messageId, problem, extensions });
    const status = { state, message } as const;
    this.#scope.say({ kind: "status-update", taskId, contextId, status, final: isFinal(state) });
  }
}

/** What is sensitive is asked for alone: then whatever comes is its answer, and nothing of it is written. */
function askedTogether(open: readonly OpenRequest[]): readonly OpenRequest[] {
  const sensitive = open.find((request) => request.kind === "input" && request.sensitive);
  return sensitive === undefined ? open : [sensitive];
}

function firstExpiry(requests: readonly OpenRequest[]): Date | undefined {
  const times = requests.flatMap((request) =>
    request.kind === "approval" && request.approval.expiresAt !== undefined
      ? [Date.parse(request.approval.expiresAt)]
      : [],
  );
  return times.length === 0 ? undefined : new Date(Math.min(...times));
}
