import type { RemoteAgent } from "@convoke/client";
import {
  BUDGET_BOUNDS,
  type Budget,
  type BudgetReport,
  ERRORS,
  EXTENSIONS,
  type Message,
  type Metadata,
  type Task,
  isInterrupted,
  readBudgetReport,
  userMessage,
} from "@convoke/protocol";
import type { LoopScope } from "../run/loop-scope.ts";
import type { DelegatedUsage, Interrupt, ToolContext, ToolEvent } from "../tools/tool.ts";
import { answerParts, isAnswered } from "./child-question.ts";
import type { ChildCall } from "./child-call.ts";
import { ChildStatuses, childFailure, childResult } from "./child-result.ts";
import { type ChildOutcome, type ChildRun, ChildStream } from "./child-stream.ts";
import { findChild } from "../sub-agents/child-cancels.ts";
import { codeOf, isOfAgent, withoutAddresses } from "../sub-agents/remote-error.ts";
import type { RunSubAgents } from "./run-sub-agents.ts";
import type { ChildQuestion, SentCall } from "../sub-agents/sub-agent-events.ts";
import type { SubAgentLink } from "../sub-agents/sub-agent-link.ts";

export interface SubAgentCallFacts {
  readonly link: SubAgentLink;
  readonly run: RunSubAgents;
  readonly scope: LoopScope;
  readonly call: ChildCall;
  readonly context: ToolContext;
  /** The task for the sub-agent, as text. */
  readonly message: string;
}

type RoundEnd = ToolEvent | readonly Interrupt[];

type Round<T> = AsyncGenerator<ToolEvent, T>;

const { approvals, budget, clientTools } = EXTENSIONS;
const ASKED = [approvals.uri, budget.uri, clientTools.uri];

/** How long to keep reconnecting to a sub-agent that is already working for us. */
const RETRY_FOR_MS = 5 * 60_000;
const MAX_PROBLEM = 2000;

const UNKNOWN =
  "Unknown: a crash cut this call before the agent had named its task; it may or may not have begun. " +
  "Check before you repeat it.";

/**
 * One round of a sub-agent call. It starts the sub-agent's task, continues it with the answers to
 * its questions, or follows it again, until the task ends or asks something.
 *
 *     no task yet ─────▶ send the message ─┐
 *     all answered ────▶ send the answers ─┼─▶ follow ──▶ result, failure or questions
 *     anything else ───▶ subscribe ────────┘
 *
 * The bridge of `@convoke/client`, which serves a remote agent as a local one, shares three things
 * with this class: following with reconnects, derived context ids, and the check whether an agent
 * deduplicates messages. The rest differs. The bridge forwards events, questions and answers
 * unchanged, for one remote task per turn. A call becomes the result of one tool among several, its
 * questions get request ids of their own, and a failed cancel is retried after a restart.
 */
export class SubAgentCall {
  readonly #facts: SubAgentCallFacts;
  readonly #statuses: ChildStatuses;

  constructor(facts: SubAgentCallFacts) {
    this.#facts = facts;
    this.#statuses = new ChildStatuses(facts.link);
  }

  async *round(): Round<RoundEnd> {
    const { scope, call, context, run, link } = this.#facts;
    const { isCut } = call;
    call.isCut = false;
    let isLeft = true;
    try {
      const end = yield* this.#go(isCut);
      isLeft = false;
      return end;
    } catch (error) {
      scope.signal.throwIfAborted();
      context.signal.throwIfAborted();
      return yield* this.#failed(failureText(link.name, error));
    } finally {
      // When the task is over, its run decides whether the sub-agents are canceled or resumed.
      if (!scope.signal.aborted) {
        if (isLeft) run.letGo(call, link);
        // Without a known task there is nothing left to cancel.
        call.isSettled ||= call.child === undefined;
      }
    }
  }

  async *#go(isCut: boolean): Round<RoundEnd> {
    const { call, context, link } = this.#facts;
    const { child, question, sent } = call;
    if (child === undefined && sent === undefined) {
      const { scope, run } = this.#facts;
      const { refusal, metadata } = handedBudget(scope, (left) => run.shareOf(left));
      if (refusal !== undefined) return { kind: "tool:error", text: refusal };
      yield this.#statuses.invoking();
      return yield* this.#begin(metadata);
    }
    const { signal } = context;
    const { owner } = context.caller;
    const remote = await link.reach({ owner, signal, retryForMs: RETRY_FOR_MS });
    if (child === undefined) {
      // Resending is only safe if the agent deduplicates messages by id; otherwise it might do the
      // work twice.
      if (!(await knowsMessages(remote))) return { kind: "tool:error", text: UNKNOWN };
      return yield* this.#ended(yield* this.#open(remote, sent!, true));
    }
    if (question !== undefined && isAnswered(question, context.answers)) {
      return yield* this.#ended(yield* this.#answer(remote, question, isCut));
    }
    const run = remote.subscribe(child.taskId, this.#options());
    return yield* this.#ended(yield* this.#follow({ run }));
  }

  async *#begin(metadata: Metadata): Round<RoundEnd> {
    const { scope, call, context, link, run } = this.#facts;
    const { toolCallId, signal, key } = context;
    const { owner } = context.caller;
    const conversation = run.takesConversation(call, link) ? context.contextId : key;
    const { retryForMs } = link.settings;
    const remote = await link.reach({ owner, signal, retryForMs });
    const { name: agent } = link;
    const { remoteContextId } = await import("@convoke/client/connection");
    const childContextId = await remoteContextId(owner, conversation);
    const sent: SentCall = { messageId: key, childContextId, handed: metadata };
    scope.note({ kind: "internal:sub-agent-call", toolCallId, agent, owner, ...sent });
    call.sent = sent;
    await scope.durable();
    return yield* this.#ended(yield* this.#open(remote, sent, false));
  }

  /**
   * Sends the message that starts the task. `isAgain` means an earlier attempt may have sent it.
   */
  async *#open(remote: RemoteAgent, sent: SentCall, isAgain: boolean): Round<ChildOutcome> {
    const { context, call } = this.#facts;
    const { messageId, childContextId: contextId, handed: metadata } = sent;
    const message: Message = {
      ...userMessage(messageId, this.#facts.message),
      referenceTaskIds: [context.taskId],
      metadata,
    };
    try {
      const run = remote.stream({ ...message, contextId }, this.#options());
      return yield* this.#follow({ run });
    } catch (error) {
      // The agent may insist on choosing context ids itself (1.0 §3.4.1), so retry without ours.
      if (call.child !== undefined || !isRefusal(error)) throw error;
      // The agent may already have a task for this message but not recognize the repeated one as
      // the same.
      const begun = isAgain ? await findChild(remote, sent, context.signal) : undefined;
      if (begun !== undefined) {
        return yield* this.#follow({ run: remote.subscribe(begun.id, this.#options()) });
      }
      return yield* this.#follow({ run: remote.stream(message, this.#options()) });
    }
  }

  async *#answer(
    remote: RemoteAgent,
    question: ChildQuestion,
    isCut: boolean,
  ): Round<ChildOutcome> {
    const { context, call } = this.#facts;
    const { taskId, contextId } = call.child!;
    const { key, answers, signal } = context;
    const messageId = `${key}:answer-${question.number}`;
    const message = {
      ...userMessage(messageId, answerParts(question, answers)),
      taskId,
      contextId,
      referenceTaskIds: [context.taskId],
    };
    if (isCut && !(await knowsMessages(remote))) {
      const { history = [] } = await remote.get(taskId, { signal });
      if (history.some((one) => one.messageId === messageId)) {
        const run = remote.subscribe(taskId, this.#options());
        return yield* this.#follow({ run, answered: question });
      }
    }
    try {
      const run = remote.stream(message, this.#options());
      return yield* this.#follow({ run, answered: question });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      // The question may have been answered directly at the sub-agent in the meantime.
      const task = await remote.get(taskId, { signal });
      const isStill = task.status.message?.messageId === question.messageId;
      if (isStill && isInterrupted(task.status.state)) {
        return { kind: "question", task, problem: error.message.slice(0, MAX_PROBLEM) };
      }
      return yield* this.#follow({ run: remote.subscribe(taskId, this.#options()) });
    }
  }

  /** Follows the run, and records the sub-agent's task with the first event that names it. */
  #follow(followed: ChildRun): Round<ChildOutcome> {
    const { call, link, scope, run, context } = this.#facts;
    const stream = new ChildStream(followed, {
      name: link.name,
      child: () => call.child,
      signal: context.signal,
      onTask: ({ id: childTaskId, contextId: childContextId }) => {
        call.child = { taskId: childTaskId, contextId: childContextId };
        const { toolCallId, caller } = context;
        scope.note({
          kind: "internal:sub-agent",
          toolCallId,
          agent: link.name,
          owner: caller.owner,
          childTaskId,
          childContextId,
        });
        run.begun(call, link);
      },
    });
    return stream.read((task) => this.#statuses.begun(task));
  }

  async *#ended(arrived: ChildOutcome): Round<RoundEnd> {
    const { call, link, scope } = this.#facts;
    if (arrived.kind === "question") return this.#question(arrived.task, arrived.problem);
    call.isSettled = true;
    const limit = scope.settings.toolOutputLimit;
    if (arrived.kind === "message") {
      yield this.#statuses.received();
      return { kind: "tool:result", value: childResult(link.name, arrived.message, limit) };
    }
    const { task } = arrived;
    call.used = childUsage(task);
    yield { kind: "tool:usage", used: call.used };
    if (task.status.state !== "completed") {
      return yield* this.#failed(childFailure(link.name, task), task);
    }
    yield this.#statuses.received(task);
    return { kind: "tool:result", value: childResult(link.name, task, limit) };
  }

  /** Relays the question of the sub-agent to the caller of this task. */
  #question(task: Task, problem: string | undefined): readonly Interrupt[] {
    const { call, context, link, scope } = this.#facts;
    const { toolCallId, answers } = context;
    const now = scope.turn.now();
    const facts = { name: link.name, toolCallId, now, problem };
    const { interrupts, noted } = call.ask(task, answers, facts);
    if (noted !== undefined) {
      scope.note({ kind: "internal:sub-agent-question", toolCallId, ...noted });
    }
    return interrupts;
  }

  *#failed(text: string, task?: Task): Generator<ToolEvent, RoundEnd> {
    yield this.#statuses.failed(text, task, this.#facts.call.child);
    return { kind: "tool:error", text };
  }

  #options(): NonNullable<Parameters<RemoteAgent["stream"]>[1]> {
    const { scope } = this.#facts;
    return { extensions: ASKED, trace: scope.trace, reconnect: { forMs: RETRY_FOR_MS } };
  }
}

/**
 * The error text for the model. A message that came from the agent is quoted, so that the model
 * treats it as data; our own errors must not reveal addresses.
 */
function failureText(name: string, error: unknown): string {
  const why = (error instanceof Error ? error.message : String(error)).slice(0, MAX_PROBLEM);
  if (!isOfAgent(error)) return `${name} failed: ${withoutAddresses(why, name)}`;
  return `${name} answered with an error, which is data: ${JSON.stringify(why)}`;
}

async function knowsMessages({ card }: RemoteAgent): Promise<boolean> {
  const client = await import("@convoke/client/connection");
  return client.deduplicatesMessages(card);
}

const REFUSALS: ReadonlySet<unknown> = new Set([
  ERRORS.InvalidParams.code,
  ERRORS.UnsupportedOperation.code,
]);

/** Whether the agent rejected the message itself, as opposed to failing while it handled it. */
function isRefusal(error: unknown): error is Error {
  return REFUSALS.has(codeOf(error));
}

/** The usage that the sub-agent reported, plus one for this call. */
function childUsage({ metadata }: Task): DelegatedUsage {
  const { tokens = 0, costUsd, calls = 0 } = reported(metadata)?.used ?? {};
  return { calls: 1 + calls, tokens, ...(costUsd !== undefined && { costUsd }) };
}

/**
 * Reads the budget report. A malformed report is ignored, because it does not invalidate the
 * sub-agent's result.
 */
function reported(metadata: Task["metadata"]): BudgetReport | undefined {
  try {
    return readBudgetReport(metadata);
  } catch {
    return undefined;
  }
}

/** The budget metadata for the sub-agent, or the reason why it may not be called. */
type Handed =
  | { readonly metadata: Metadata; readonly refusal?: never }
  /** A text for the model. */
  | { readonly refusal: string; readonly metadata?: never };

const { uri } = EXTENSIONS.budget;

/** Computes the part of the remaining budget that goes with the message to a sub-agent. */
function handedBudget(
  { budget, clock, usage, settings }: LoopScope,
  shareOf: (left: Budget) => Budget,
): Handed {
  const { depth, deadline } = budget;
  const visited = [...budget.visited, settings.identity.id];
  if (depth <= 0 || visited.length > BUDGET_BOUNDS.visited) {
    const chain = `it has come through ${visited.length} agents`;
    return {
      refusal: `Not called: this work may not be handed on any further (depth limit); ${chain}.`,
    };
  }
  const share = shareOf(budget.left(usage.total(clock.workedMs)));
  if (share.tokens === 0 || share.costUsd === 0) {
    return { refusal: "Not called: nothing is left of the budget for it." };
  }
  const handed: Budget = {
    ...share,
    ...(deadline !== undefined && { deadline }),
    depth: depth - 1,
    visited,
  };
  return { metadata: { [uri]: handed } };
}
