import { orAborted } from "@convoke/protocol/internal";
import { type Message, isFinal } from "@convoke/protocol";
import { type OpenRequest, isSensitive } from "../approvals/open-request.ts";
import { questionMessage } from "../approvals/question-message.ts";
import { asksForToolsOnly, expiryOfUses, goOnUnanswered } from "../run/client-tools.ts";
import type { AskEvent } from "../run/loop-events.ts";
import type { LoopScope } from "../run/loop-scope.ts";

/** The outcome of a question. */
export interface Reply {
  /** Absent if no answer came in time. */
  readonly message: Message | undefined;
  readonly at: Date;
  /** Its position in the journal. */
  readonly place: number;
  /** The question was settled elsewhere. */
  readonly isRecalled: boolean;
  /** The requests that were open when the question was asked. */
  readonly requests: readonly OpenRequest[];
  /** When the question itself expires, if earlier than the task's own input timeout. */
  readonly until: Date | undefined;
}

export interface QuestionFacts {
  readonly open: readonly OpenRequest[];
  /** Why the last answer was rejected. */
  readonly problem: string | undefined;
  /** Resolves when some of it was settled elsewhere; undefined if that cannot be watched. */
  readonly watch: (signal: AbortSignal) => Promise<unknown> | undefined;
}

/** Asks the caller and waits. A question that the journal shows as answered is not asked again. */
export class Questions {
  readonly #scope: LoopScope;
  readonly #onWait: (isWaiting: boolean) => void;
  #count = 0;
  #expired = 0;
  /** The next question, if an earlier attempt recorded it but may have crashed before asking it. */
  #noted: AskEvent | undefined;

  /** `onWait` is called when the task starts and stops waiting. */
  constructor(scope: LoopScope, onWait: (isWaiting: boolean) => void) {
    this.#scope = scope;
    this.#onWait = onWait;
  }

  /** The questions of this iteration that were answered in earlier attempts, in order. */
  answered(iteration: number): readonly Reply[] {
    return this.#scope.journal.waits(iteration).flatMap(({ ask, end }) => {
      this.#count += 1;
      this.#noted = end === undefined ? ask : undefined;
      if (end === undefined) return [];
      return [{ ...end, requests: ask.requests, until: expiryOfQuestion(ask) }];
    });
  }

  /** Asks for what is open, and resolves to the outcome. */
  async ask(iteration: number, { open, problem, watch }: QuestionFacts): Promise<Reply> {
    const { turn, signal, clock, settings } = this.#scope;
    const recall = new AbortController();
    const over = new AbortController();
    const settled = watch(AbortSignal.any([signal, over.signal]));
    settled?.then(
      () => recall.abort(),
      () => undefined,
    );
    const requests = askedTogether(open);
    const askedAt = turn.now();
    const noted = this.#noted;
    const until =
      noted === undefined
        ? (firstExpiry(requests) ?? expiryOfUses(requests, askedAt, settings.clientTools))
        : expiryOfQuestion(noted);
    if (noted === undefined) {
      this.#count += 1;
      this.#scope.note({
        kind: "internal:ask",
        iteration,
        requests,
        ...(until && { until: until.toISOString() }),
        ...(settled && { isWatched: true }),
      });
    }
    this.#noted = undefined;
    this.#sayQuestion(requests, problem);
    await this.#scope.durable();
    this.#onWait(true);
    const parked = turn.park(until, settled && recall.signal);
    const message = await orAborted(parked, signal).finally(() => over.abort());
    this.#onWait(false);
    const at = turn.resumedAt ?? turn.now();
    clock.addWait(askedAt, at);
    const isRecalled = message === undefined && recall.signal.aborted;
    return { message, at, place: Number.POSITIVE_INFINITY, isRecalled, requests, until };
  }

  /** The caller did not run its tools in time: the task continues and says so, or fails. */
  heedExpiry({ message, at, until, requests, isRecalled }: Reply): void {
    const { turn, runId, settings } = this.#scope;
    const { clientTools } = settings;
    const isOver = message === undefined && !isRecalled && until !== undefined && until <= at;
    if (!isOver || clientTools === undefined || !asksForToolsOnly(requests)) return;
    const messageId = `${runId}-expired-${(this.#expired += 1)}`;
    this.#scope.say(goOnUnanswered(turn.task, messageId, clientTools));
  }

  #sayQuestion(requests: readonly OpenRequest[], problem: string | undefined): void {
    const { turn, runId, settings } = this.#scope;
    const { extensions } = turn;
    const { acceptPlainText } = settings.approvals;
    const { id: taskId, contextId } = turn.task;
    const isAuth = requests.every(({ kind }) => kind === "auth");
    const state = isAuth ? "auth-required" : "input-required";
    const messageId = `${runId}-ask-${this.#count}`;
    const facts = { messageId, problem, extensions, acceptPlainText };
    const message = questionMessage(requests, facts);
    const status = { state, message } as const;
    this.#scope.say({ kind: "status-update", taskId, contextId, status, final: isFinal(state) });
  }
}

/**
 * Sensitive input is asked for alone, so that the whole reply is its answer and none of it is
 * stored.
 */
function askedTogether(open: readonly OpenRequest[]): readonly OpenRequest[] {
  const sensitive = open.find(isSensitive);
  return sensitive === undefined ? open : [sensitive];
}

function expiryOfQuestion({ until }: AskEvent): Date | undefined {
  return until === undefined ? undefined : new Date(until);
}

function firstExpiry(requests: readonly OpenRequest[]): Date | undefined {
  const times = requests.flatMap((request) =>
    request.kind === "approval" && request.approval.expiresAt !== undefined
      ? [Date.parse(request.approval.expiresAt)]
      : [],
  );
  return times.length === 0 ? undefined : new Date(Math.min(...times));
}
