import type { Run } from "@convoke/client";
import type { RemoteTask } from "@convoke/client/connection";
import {
  type BudgetReport,
  EXTENSIONS,
  type Message,
  type Metadata,
  type PublicEvent,
  type Task,
  isInterrupted,
  isTerminal,
  parseTraceHeaders,
  readBudgetReport,
  textOfParts,
  userMessage,
} from "@convoke/protocol";
import { type Span, startSpan } from "@convoke/engine/tracing";
import type { LoopScope } from "../run/loop-scope.ts";
import type { DelegatedUsage, Interrupt, ToolContext, ToolEvent } from "../tools/tool.ts";
import { answerParts, isAnswered } from "./child-question.ts";
import type { ChildCall } from "./child-call.ts";
import { ChildStatuses, childFailure, childResult } from "./child-result.ts";
import { isOfAgent, withoutAddresses } from "../sub-agents/remote-error.ts";
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

type Round<T> = AsyncGenerator<ToolEvent, T, undefined>;

/** Why reading from a sub-agent stopped. */
type ChildOutcome =
  | { readonly kind: "ended"; readonly task: Task }
  /** The sub-agent answered with a message instead of a task. */
  | { readonly kind: "message"; readonly message: Message }
  /** The sub-agent is waiting for input, authentication or an approval. */
  | { readonly kind: "question"; readonly task: Task; readonly problem?: string };

const { approvals, budget, clientTools } = EXTENSIONS;
const ASKED = [approvals.uri, budget.uri, clientTools.uri];

/** How long to keep reconnecting to a sub-agent that is already working for us. */
const RETRY_FOR_MS = 5 * 60_000;

/**
 * When a call is aborted right after its message was sent, how long to wait for the id of the task
 * that must be canceled.
 */
const LEARN_MS = 10_000;

/**
 * Maximum size of a sub-agent's output in characters. More than any model could read, it stops
 * agents that never finish.
 */
const MAX_LENGTH = 16_000_000;

const MAX_PROBLEM = 2000;

const UNKNOWN =
  "Unknown: a crash interrupted this call before the agent returned a task; it may or may not have started. " +
  "Check before you repeat it.";

/**
 * One round of a sub-agent call. It starts the sub-agent's task, continues it with the answers to
 * its questions, or follows it again, until the task ends or asks something.
 *
 *     no task yet ─────▶ send the message ─┐
 *     all answered ────▶ send the answers ─┼─▶ follow ──▶ result, failure or questions
 *     anything else ───▶ subscribe ────────┘
 *
 * The task itself is a `RemoteTask` of `@convoke/client`, as in the bridge, which serves a remote
 * agent as a local one. The bridge forwards events, questions and answers unchanged, for one remote
 * task per turn. A call becomes the result of one tool among several, its questions get request ids
 * of their own, and a failed cancel is retried after a restart.
 */
export class SubAgentCall {
  readonly #facts: SubAgentCallFacts;
  readonly #statuses: ChildStatuses;
  #span: Span | undefined;

  constructor(facts: SubAgentCallFacts) {
    this.#facts = facts;
    this.#statuses = new ChildStatuses(facts.link);
  }

  async *round(): Round<RoundEnd> {
    const { scope, call, context, run, link } = this.#facts;
    const { isCut } = call;
    call.isCut = false;
    let isLeft = true;
    this.#span = this.#startSpan();
    try {
      const end = yield* this.#go(isCut);
      isLeft = false;
      this.#endSpan(end);
      return end;
    } catch (error) {
      this.#span?.end(error instanceof Error ? error.name : "error");
      scope.signal.throwIfAborted();
      context.stopped.throwIfAborted();
      return yield* this.#failed(failureText(link.name, error));
    } finally {
      this.#span?.end("canceled");
      // When the task is over, its run decides whether the sub-agents are canceled or resumed.
      if (!scope.signal.aborted) {
        if (isLeft) run.letGo(call, link);
        // Without a known task there is nothing left to cancel.
        call.isSettled ||= call.child === undefined;
      }
    }
  }

  /** The span of the calling side. The request span of the sub-agent's server is its child. */
  #startSpan(): Span | undefined {
    const { context, link } = this.#facts;
    const { traceparent, tracestate } = context.trace;
    const name = link.info?.name ?? link.name;
    return startSpan(`invoke_agent ${name}`, {
      kind: "client",
      parent: parseTraceHeaders(traceparent, tracestate),
      signal: context.stopped,
      attributes: () => ({
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": name,
        "gen_ai.agent.version": link.info?.version,
        "gen_ai.tool.call.id": context.toolCallId,
      }),
    });
  }

  #endSpan(end: RoundEnd): void {
    const { child } = this.#facts.call;
    this.#span?.set(() => ({
      "gen_ai.conversation.id": child?.contextId,
      "a2a.task.id": child?.taskId,
    }));
    const isFailed = !Array.isArray(end) && (end as ToolEvent).kind === "tool:error";
    this.#span?.end(isFailed ? "agent_error" : undefined);
  }

  async *#go(isCut: boolean): Round<RoundEnd> {
    const { call, context, run, scope } = this.#facts;
    const { child, question, sent } = call;
    if (child === undefined && sent === undefined) {
      const { refusal, metadata } = run.handBudget();
      if (refusal !== undefined) return { kind: "tool:error", text: refusal };
      yield this.#statuses.invoking();
      return yield* this.#begin(metadata);
    }
    if (child !== undefined) scope.ended(context.toolCallId);
    const remote = await this.#reach(RETRY_FOR_MS);
    if (child === undefined) {
      // Resending is only safe if the agent deduplicates messages by id; otherwise it might do the
      // work twice.
      if (!remote.deduplicates) return { kind: "tool:error", text: UNKNOWN };
      return yield* this.#ended(yield* this.#open(remote, sent!, true));
    }
    if (question !== undefined && isAnswered(question, context.answers)) {
      return yield* this.#ended(yield* this.#answer(remote, question, isCut));
    }
    return yield* this.#ended(yield* this.#follow(remote.attach()));
  }

  async *#begin(metadata: Metadata): Round<RoundEnd> {
    const { scope, call, context, link, run } = this.#facts;
    const { toolCallId, key } = context;
    const { owner } = context.caller;
    const conversation = run.takesConversation(call, link) ? context.contextId : key;
    const remote = await this.#reach(link.settings.retryForMs);
    const { name: agent } = link;
    const { remoteContextId } = await import("@convoke/client/connection");
    const childContextId = await remoteContextId(owner, conversation);
    const sent: SentCall = { messageId: key, childContextId, handed: metadata };
    scope.note({ kind: "internal:sub-agent-call", toolCallId, agent, owner, ...sent });
    call.sent = sent;
    await scope.durable();
    return yield* this.#ended(yield* this.#open(remote, sent, false));
  }

  /** Connects to the sub-agent. Its task may not exist yet. */
  async #reach(retryForMs: number): Promise<RemoteTask> {
    const { call, context, link, scope } = this.#facts;
    const { stopped: signal, caller } = context;
    const trace = this.#span?.trace ?? scope.trace;
    const agent = await link.reach({ owner: caller.owner, signal, retryForMs });
    const { RemoteTask } = await import("@convoke/client/connection");
    const follow = { extensions: ASKED, trace, reconnect: { forMs: RETRY_FOR_MS } };
    return new RemoteTask(agent, { ids: call.child, signal, follow, learnMs: LEARN_MS });
  }

  /**
   * Sends the message that starts the task. `isAgain` means an earlier attempt may have sent it.
   */
  #open(remote: RemoteTask, sent: SentCall, isAgain: boolean): Round<ChildOutcome> {
    const { context } = this.#facts;
    const { messageId, childContextId: contextId, handed: metadata } = sent;
    const message = {
      ...userMessage(messageId, this.#facts.message),
      referenceTaskIds: [context.taskId],
      metadata,
      contextId,
    };
    return remote.open(message, isAgain, (run) => this.#follow(run));
  }

  async *#answer(remote: RemoteTask, question: ChildQuestion, isCut: boolean): Round<ChildOutcome> {
    const { key, answers, taskId } = this.#facts.context;
    const message = {
      ...userMessage(`${key}:answer-${question.number}`, answerParts(question, answers)),
      referenceTaskIds: [taskId],
    };
    try {
      const run = await remote.answer(message, isCut);
      return yield* this.#follow(run, question);
    } catch (error) {
      if (!remote.isRefusal(error)) throw error;
      // The question may have been answered directly at the sub-agent in the meantime.
      const task = await remote.get();
      const isStill = task.status.message?.messageId === question.messageId;
      if (isStill && isInterrupted(task.status.state)) {
        return { kind: "question", task, problem: error.message.slice(0, MAX_PROBLEM) };
      }
      return yield* this.#follow(remote.attach());
    }
  }

  /**
   * Reads a run until the task ends or asks something. `answered` is the question that was just
   * answered: the sub-agent may still show it until it continues.
   */
  async *#follow(run: Run, answered?: ChildQuestion): Round<ChildOutcome> {
    const { call, context, link } = this.#facts;
    let length = 0;
    for await (const event of run) {
      if (event.kind === "message") {
        context.stopped.throwIfAborted();
        return { kind: "message", message: event };
      }
      const task = run.task!;
      refuseLongIds(task);
      if (call.child === undefined) {
        this.#noteChild(task);
        yield this.#statuses.begun(task);
      }
      context.stopped.throwIfAborted();
      const { taskId } = call.child!;
      if (task.id !== taskId)
        throw new Error(`it answered for task ${task.id} instead of ${taskId}`);
      length += lengthOf(event);
      if (length > MAX_LENGTH) throw new Error(`it said more than ${MAX_LENGTH} characters`);
      yield* shownOf(event, link.name);
      if (isInterrupted(task.status.state) && !isStale(event, answered)) {
        return { kind: "question", task };
      }
    }
    const { task } = run;
    if (task !== undefined && isTerminal(task.status.state)) return { kind: "ended", task };
    if (task !== undefined && isInterrupted(task.status.state) && !isStale(task, answered)) {
      return { kind: "question", task };
    }
    throw new Error("its answer ended before its task did");
  }

  /** Records the sub-agent's task when the first event names it. */
  #noteChild({ id: childTaskId, contextId: childContextId }: Task): void {
    const { call, link, scope, run, context } = this.#facts;
    call.child = { taskId: childTaskId, contextId: childContextId };
    const { toolCallId, caller } = context;
    const ids = { toolCallId, agent: link.name, owner: caller.owner, childTaskId, childContextId };
    scope.note({ kind: "internal:sub-agent", ...ids });
    // A later attempt finds the task, so that a stop need not wait for it.
    scope.ended(toolCallId);
    run.begun(call, link);
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
}

const MAX_ID = 256;

/** Rejects overlong ids, because they are copied into statuses and into the model's input. */
function refuseLongIds({ id, contextId }: Task): void {
  const longest = Math.max(id.length, contextId.length);
  if (longest > MAX_ID) throw new Error(`it named its task by ${longest} characters`);
}

/**
 * The size of an event in characters. Every event has a fixed minimum, so that many small ones
 * reach the limit too; it is higher for statuses, because they stay in the history.
 */
function lengthOf(event: Exclude<PublicEvent, Message>): number {
  // A snapshot replaces the previous one, but an endless series of them must reach the limit too.
  if (event.kind === "task") return 2000;
  const isStatus = event.kind === "status-update";
  const parts = isStatus ? (event.status.message?.parts ?? []) : event.artifact.parts;
  return JSON.stringify(parts).length + (isStatus ? 2000 : 100);
}

/** What a tool shows of an event while the sub-agent works. */
function* shownOf(event: PublicEvent, name: string): Generator<ToolEvent, void> {
  if (event.kind === "artifact-update") {
    const text = textOfParts(event.artifact.parts);
    if (text !== "") yield { kind: "tool:output", text };
  } else if (event.kind === "status-update" && event.status.state === "working") {
    const text = textOfParts(event.status.message?.parts ?? []).trim();
    if (text !== "") yield { kind: "tool:progress", text: `${name}: ${text}` };
  }
}

/** Whether a snapshot still shows the question that was just answered. */
function isStale(event: PublicEvent, answered: ChildQuestion | undefined): boolean {
  if (answered === undefined || event.kind !== "task") return false;
  return event.status.message?.messageId === answered.messageId;
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
