import { A2AError, type Message, deciderOf } from "@convoke/protocol";
import { checkAnswer } from "../approvals/check-answer.ts";
import { type OpenRequest, hasExpired } from "../approvals/open-request.ts";
import { readsWordsOnly } from "../approvals/question-message.ts";
import type { CallResult, ToolCall } from "../run/call-result.ts";
import { CallRun } from "./call-run.ts";
import type { LoopScope } from "../run/loop-scope.ts";
import type { Questions, Reply } from "./questions.ts";
import { RunApprovals } from "./run-approvals.ts";
import type { TurnTools } from "./turn-tools.ts";

/** The outcome of a round of tool calls. */
export interface CallsOutcome {
  /** In the order of the calls. */
  readonly results: readonly CallResult[];
  /** Messages that the caller sent instead of an answer. */
  readonly said: readonly Message[];
}

/**
 * Runs the calls of one answer: as many at a time as are allowed, asking for
 * everything that is open at once, until each has a result.
 *
 *     calls ──▶ run ──▶ results
 *       ▲        └────▶ open requests ──▶ ask, wait ──┐
 *       └───────────────── answers ◀─────────────────┘
 */
export class ToolCalls {
  readonly #scope: LoopScope;
  readonly #tools: TurnTools;
  readonly #questions: Questions;
  readonly #approvals: RunApprovals;
  readonly #answerId: string;

  constructor(
    scope: LoopScope,
    facts: { readonly tools: TurnTools; readonly questions: Questions; readonly answerId: string },
  ) {
    this.#scope = scope;
    this.#tools = facts.tools;
    this.#questions = facts.questions;
    this.#answerId = facts.answerId;
    this.#approvals = new RunApprovals(scope);
  }

  async run(iteration: number, calls: readonly ToolCall[]): Promise<CallsOutcome> {
    const { journal } = this.#scope;
    // Completed calls need no tools, so do not depend on servers that may be unreachable now.
    const isOpen = calls.some(({ toolCallId }) => journal.call(toolCallId).complete === undefined);
    if (isOpen) await this.#tools.lookOnce();
    const around = {
      scope: this.#scope,
      approvals: this.#approvals,
      findTool: (name: string) => this.#tools.box.find(name),
      unknownTool: (name: string) => this.#tools.unknownText(name),
      answerId: this.#answerId,
    };
    this.#tools.beginRound(calls);
    const runs = calls.map((call) => new CallRun(call, around));
    const said: Message[] = [];
    let problem: string | undefined;
    for (const reply of this.#questions.answered(iteration)) {
      problem = await this.#take(reply, runs, said);
    }
    for (;;) {
      await eachBounded(runs, this.#scope.settings.maxParallelTools, (run) => run.advance());
      const open = runs.flatMap((run) => run.open);
      if (open.length === 0) break;
      const watch = (signal: AbortSignal): Promise<unknown> | undefined => firstOf(runs, signal);
      const reply = await this.#questions.ask(iteration, { open, problem, watch });
      problem = await this.#take(reply, runs, said);
    }
    return { results: runs.map((run) => run.result!), said };
  }

  /** Distributes the reply to the calls. Returns what is wrong with it, for the next question. */
  async #take(
    reply: Reply,
    runs: readonly CallRun[],
    said: Message[],
  ): Promise<string | undefined> {
    const { message, at, place, isRecalled, requests } = reply;
    if (isRecalled) {
      for (const run of runs) run.recall();
      return undefined;
    }
    this.#questions.heedExpiry(reply);
    // If none of the requests expired, the task's own input timeout did, and it continues without
    // any answer. This looks at the requests as they were asked, because after a restart the calls
    // may already have their decisions from the journal.
    const isTimeOver = message === undefined && !requests.some((one) => hasExpired(one, at));
    const expired = runs.filter(({ open }) => open.some((one) => hasExpired(one, at)));
    for (const run of isTimeOver ? runs : expired) await run.giveUp("expired", at);
    if (message === undefined) return undefined;
    const { settings, turn } = this.#scope;
    const { acceptPlainText = readsWordsOnly(turn.extensions) } = settings.approvals;
    try {
      const answer = checkAnswer(requests, message, { now: at, acceptPlainText });
      if (answer.kind === "superseded") {
        for (const run of runs) await run.giveUp("superseded", at);
        said.push(message);
        return undefined;
      }
      const open = runs.flatMap((run) => run.open);
      for (const [requestId, input] of answer.inputs) {
        for (const id of answeredTogether(open, requestId)) {
          for (const run of runs) run.answer(id, input, place);
        }
      }
      const by = deciderOf(message) ?? turn.caller.owner;
      const problems: string[] = [];
      for (const [approvalId, decision] of answer.approvals) {
        const run = runs.find(({ open }) => open.some(({ requestId }) => requestId === approvalId));
        // After a restart the call may already be past this approval; then its journal has the
        // decision.
        if (run === undefined) for (const one of runs) one.relay(decision, place);
        const unfit = await run?.decide(decision, { by, at, place });
        if (unfit !== undefined) problems.push(unfit);
      }
      return problems.length === 0 ? undefined : problems.join("\n");
    } catch (error) {
      if (!A2AError.is(error)) throw error;
      return `That does not answer what is open: ${error.detail}.`;
    }
  }
}

/** A credential answers all requests for it that are open; any other answer is for its own request. */
function answeredTogether(open: readonly OpenRequest[], requestId: string): readonly string[] {
  const request = open.find((one) => one.requestId === requestId);
  const credential = request?.kind === "auth" ? request.credential : undefined;
  if (credential === undefined) return [requestId];
  return open.flatMap((one) =>
    one.kind === "auth" && one.credential === credential ? [one.requestId] : [],
  );
}

/**
 * Resolves when the first open question was settled elsewhere; undefined if none can be watched.
 */
function firstOf(runs: readonly CallRun[], signal: AbortSignal): Promise<unknown> | undefined {
  const watched = runs.flatMap((run) => run.watch(signal) ?? []);
  return watched.length === 0 ? undefined : Promise.race(watched);
}

/** Processes the items in order, at most `most` at a time. Rejects with the first failure. */
async function eachBounded<T>(
  items: readonly T[],
  most: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) await work(items[next++]!);
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, worker));
}
