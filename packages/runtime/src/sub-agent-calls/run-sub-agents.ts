import {
  BUDGET_BOUNDS,
  type Budget,
  ERRORS,
  EXTENSIONS,
  type Metadata,
  type PublicEvent,
  ServerStopping,
  isInterrupted,
} from "@convoke/protocol";
import type { ToolCall } from "../run/call-result.ts";
import type { LoopScope } from "../run/loop-scope.ts";
import type { ToolDescription } from "../model/model.ts";
import type { Tool } from "../tools/tool.ts";
import { ChildCall } from "./child-call.ts";
import type { SubAgentLink } from "../sub-agents/sub-agent-link.ts";
import { type ToolInput, toolInput } from "../tools/tool-input.ts";
import { ChildStatuses } from "./child-result.ts";
import { SubAgentCall } from "./sub-agent-call.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { codeOf } from "../sub-agents/remote-error.ts";

/**
 * How long a run waits for agent cards when it starts, so that an unreachable agent cannot delay it
 * much.
 */
const LOOK_MS = 3000;

/** The sub-agents of one run: offers them as tools and tracks the calls to them. */
export class RunSubAgents {
  readonly #scope: LoopScope;
  readonly #calls = new Map<string, ChildCall>();
  readonly #links = new Map<string, SubAgentLink>();
  /** The sub-agent calls in the model's latest answer, which run in parallel. */
  #round: readonly ChildCall[] = [];
  #hasLooked = false;
  /** The task has ended, so sub-agents that still work for it must be canceled. */
  #isOver = false;

  constructor(scope: LoopScope) {
    this.#scope = scope;
  }

  async tools(): Promise<readonly Tool[]> {
    const { turn, settings } = this.#scope;
    const { subAgents } = settings;
    if (subAgents === undefined) return [];
    // Only the first lookup waits for cards; later ones use whatever has arrived.
    await subAgents.look(turn.caller.owner, this.#hasLooked ? 0 : LOOK_MS);
    this.#hasLooked = true;
    return subAgents.links.map((link) => subAgentTool(link, { run: this, scope: this.#scope }));
  }

  beginRound(calls: readonly ToolCall[]): void {
    const { subAgents } = this.#scope.settings;
    this.#round = calls.flatMap(({ toolCallId, toolName }) => {
      const link = subAgents?.find(toolName);
      return link === undefined ? [] : [this.call(toolCallId, link)];
    });
  }

  /** The part of the remaining budget that goes with the message of a call that has no share yet. */
  handBudget(): Handed {
    const { budget, clock, usage, settings } = this.#scope;
    const { depth, deadline } = budget;
    const visited = [...budget.visited, settings.identity.id];
    if (depth <= 0 || visited.length > BUDGET_BOUNDS.visited) {
      const chain = `it has come through ${visited.length} agents`;
      return {
        refusal: `Not called: this work may not be handed on any further (depth limit); ${chain}.`,
      };
    }
    const share = this.#share(budget.left(usage.total(clock.workedMs)));
    if (share.tokens === 0 || share.costUsd === 0) {
      return { refusal: "Not called: nothing is left of the budget for it." };
    }
    const handed: Budget = {
      ...share,
      ...(deadline !== undefined && { deadline }),
      depth: depth - 1,
      visited,
    };
    return { metadata: { [EXTENSIONS.budget.uri]: handed } };
  }

  #share(left: Amounts): Amounts {
    const begun = this.#round.filter(({ sent, isSettled }) => sent !== undefined || isSettled);
    return budgetShare(left, begun, Math.max(1, this.#round.length - begun.length));
  }

  call(toolCallId: string, link: SubAgentLink): ChildCall {
    const known = this.#calls.get(toolCallId);
    if (known !== undefined) return known;
    const call = new ChildCall(this.#scope.journal.call(toolCallId));
    this.#calls.set(toolCallId, call);
    this.#links.set(toolCallId, link);
    return call;
  }

  /**
   * Whether a call continues the conversation that this context has had with the sub-agent. Only
   * one of several parallel calls does, because otherwise each would see the others' work as its
   * own history.
   */
  takesConversation(call: ChildCall, link: SubAgentLink): boolean {
    const isTaken = [...this.#calls].some(
      ([toolCallId, other]) =>
        other !== call &&
        other.isInConversation &&
        !other.isSettled &&
        this.#links.get(toolCallId) === link,
    );
    call.isInConversation = !isTaken;
    return !isTaken;
  }

  /**
   * Called when the task of a sub-agent becomes known. Cancels it if our own task is already over.
   */
  begun(call: ChildCall, link: SubAgentLink): void {
    if (this.#isOver) this.letGo(call, link);
  }

  /** Cancels the sub-agent's task, because its result is no longer needed. */
  letGo(call: ChildCall, { name: agent }: SubAgentLink): void {
    const { child, sent, isSettled } = call;
    const { owner } = this.#scope.turn.caller;
    const cancels = this.#scope.settings.subAgents?.cancels;
    if (isSettled) return;
    if (child !== undefined) {
      call.isSettled = true;
      cancels?.add({ agent, owner, childTaskId: child.taskId });
    } else if (this.#isOver && sent !== undefined) {
      // The sub-agent may have started a task anyway, and this process may end before it learns the
      // id.
      const { messageId, childContextId } = sent;
      cancels?.add({ agent, owner, message: { messageId, childContextId } });
    }
  }

  /**
   * Ends the run. Unless it will be resumed by the next process or was taken over by another run,
   * cancels every sub-agent that still works for it, including those known only from the journal.
   */
  end(hasEnded: boolean): void {
    const { journal, turn, settings } = this.#scope;
    const { aborted, reason } = turn.signal;
    if (!hasEnded && (!aborted || ServerStopping.is(reason))) return;
    this.#isOver = true;
    for (const { call } of journal.openSubAgents()) {
      const { toolCallId, agent } = call;
      const link = settings.subAgents?.find(agent);
      if (link !== undefined) this.call(toolCallId, link);
    }
    for (const [toolCallId, call] of this.#calls) this.letGo(call, this.#links.get(toolCallId)!);
  }
}

/** The input schema is the same for all sub-agents, so it is compiled once. */
let input: ToolInput | undefined;

const SCHEMA = {
  type: "object",
  properties: {
    message: {
      type: "string",
      minLength: 1,
      description:
        "What the agent shall do, with everything that it must know: it does not see this conversation.",
    },
  },
  required: ["message"],
} as const;

/** Wraps a sub-agent as a tool for the model. */
function subAgentTool(
  link: SubAgentLink,
  around: { readonly run: RunSubAgents; readonly scope: LoopScope },
): Tool {
  const { name, confirm, timeoutMs } = link.settings;
  input ??= toolInput(name, SCHEMA);
  const { run, scope } = around;
  return {
    ...describeSubAgent(link),
    confirm,
    // A repeated call finds the task that it started, or reports that the outcome is unknown.
    idempotent: true,
    timeoutMs,
    check: input.check,
    run: (given, context) => {
      const { message } = given as { readonly message: string };
      const call = run.call(context.toolCallId, link);
      return new SubAgentCall({ link, run, scope, call, context, message }).round();
    },
    watch: ({ toolCallId }, signal) =>
      watchChild(run.call(toolCallId, link), { link, owner: scope.turn.caller.owner, signal }),
    giveUp: ({ toolCallId }) => run.letGo(run.call(toolCallId, link), link),
    late: ({ toolCallId }, problem) =>
      new ChildStatuses(link).failed(problem, undefined, run.call(toolCallId, link).child),
  };
}

const MAX_SKILLS = 32;

const MAX_DESCRIPTION = 4000;

/**
 * A sub-agent as the model sees it, with the author's description if there is one, else the one on
 * the agent's card, else a generic text.
 */
export function describeSubAgent({
  settings,
  info,
}: SubAgentLink): ToolDescription & Pick<Tool, "describedBy"> {
  const { name, description } = settings;
  const own =
    description ?? info?.description ?? `The agent ${name}. Describe the task in plain language.`;
  const skills = (info?.skills ?? []).slice(0, MAX_SKILLS).map((skill) => skill.name);
  // Quoted, because the author's text is before them and the names are from the network.
  const listed =
    skills.length === 0 ? "" : `\nIts card lists these skills: ${JSON.stringify(skills)}`;
  input ??= toolInput(name, SCHEMA);
  const isFromCard = description === undefined && info?.description !== undefined;
  return {
    name,
    description: `${own}${listed}`.slice(0, MAX_DESCRIPTION),
    ...(isFromCard && { describedBy: `The card of the agent ${name}` }),
    inputSchema: input.schema,
  };
}

interface WatchFacts {
  readonly link: SubAgentLink;
  readonly owner: string;
  readonly signal: AbortSignal;
}

/** How long to wait before checking again when the stream has ended or is not supported. */
const AGAIN_MS = 10_000;

/**
 * Resolves when the sub-agent is no longer waiting on the last question of the call, because it was
 * answered there directly or the sub-agent continued on its own. Never rejects, and never resolves
 * after the signal has been aborted.
 */
async function watchChild(call: ChildCall, facts: WatchFacts): Promise<void> {
  const { signal } = facts;
  while (!signal.aborted) {
    try {
      if (await hasGoneOn(call, facts)) break;
    } catch (error) {
      if (signal.aborted) break;
      // If the task no longer exists, stop waiting: the call itself will find out and report it.
      if (codeOf(error) === ERRORS.TaskNotFound.code) break;
    }
    await sleep(AGAIN_MS, undefined, { signal, ref: false }).catch(() => undefined);
  }
  if (signal.aborted) await new Promise(() => undefined);
}

const RETRY_FOR_MS = 24 * 3_600_000;

async function hasGoneOn(
  { child, question }: ChildCall,
  { link, owner, signal }: WatchFacts,
): Promise<boolean> {
  if (child === undefined || question === undefined) return true;
  const remote = await link.reach({ owner, signal, retryForMs: RETRY_FOR_MS });
  const run = remote.subscribe(child.taskId, { signal, reconnect: { forMs: RETRY_FOR_MS } });
  for await (const event of run) {
    if (hasMoved(event, question.messageId)) return true;
  }
  return false;
}

function hasMoved(event: PublicEvent, messageId: string | undefined): boolean {
  if (event.kind !== "task" && event.kind !== "status-update") return false;
  const { state, message } = event.status;
  return !isInterrupted(state) || message?.messageId !== messageId;
}

/** The budget metadata for the sub-agent, or the reason why it may not be called. */
type Handed =
  | { readonly metadata: Metadata; readonly refusal?: never }
  /** A text for the model. */
  | { readonly refusal: string; readonly metadata?: never };

/** The limits that can be divided among calls. */
type Amounts = Pick<Budget, "tokens" | "costUsd">;

/**
 * The share of the budget for one of several parallel calls. Amounts reserved for other calls are
 * subtracted, and the rest is divided evenly among the calls that have no share yet, including this
 * one. Whatever a call leaves unused becomes available to the next.
 */
export function budgetShare(left: Amounts, others: readonly ChildCall[], waiting: number): Amounts {
  const share = (most: number, name: keyof Amounts): number => {
    const taken = others.reduce((sum, { claim }) => sum + (claim[name] ?? 0), 0);
    return Math.max(0, most - taken) / waiting;
  };
  const { tokens, costUsd } = left;
  return {
    ...(tokens !== undefined && { tokens: Math.floor(share(tokens, "tokens")) }),
    ...(costUsd !== undefined && { costUsd: share(costUsd, "costUsd") }),
  };
}
