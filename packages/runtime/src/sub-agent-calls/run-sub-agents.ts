import {
  type Budget,
  ERRORS,
  type PublicEvent,
  ServerStopping,
  isInterrupted,
} from "@convoke/protocol";
import type { ToolCall } from "../run/call-result.ts";
import type { LoopScope } from "../run/loop-scope.ts";
import type { Tool } from "../tools/tool.ts";
import { ChildCall } from "./child-call.ts";
import type { SubAgentLink, SubAgentReport } from "../sub-agents/sub-agent-link.ts";
import { type ToolInput, toolInput } from "../tools/tool-input.ts";
import { ChildStatuses } from "./child-result.ts";
import { SubAgentCall } from "./sub-agent-call.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { codeOf } from "../sub-agents/remote-error.ts";

/** How long a run waits for cards at its beginning: one that is down never holds it up for long. */
const LOOK_MS = 3000;

/** The sub-agents of one run: as tools, and what its calls of them have come to. */
export class RunSubAgents {
  readonly #scope: LoopScope;
  readonly #calls = new Map<string, ChildCall>();
  readonly #links = new Map<string, SubAgentLink>();
  /** The calls that the model made last, and at the same time. */
  #round: readonly ChildCall[] = [];
  #hasLooked = false;
  /** The task has ended, so its sub-agents are told to stop. */
  #isOver = false;

  constructor(scope: LoopScope) {
    this.#scope = scope;
  }

  /** What can be called now. */
  async tools(): Promise<readonly Tool[]> {
    const { turn, settings } = this.#scope;
    const { subAgents } = settings;
    if (subAgents === undefined) return [];
    // Later it is taken as it comes.
    await subAgents.look(turn.caller.owner, this.#hasLooked ? 0 : LOOK_MS);
    this.#hasLooked = true;
    return subAgents.links.map((link) => subAgentTool(link, { run: this, scope: this.#scope }));
  }

  report(): readonly SubAgentReport[] {
    return this.#scope.settings.subAgents?.report() ?? [];
  }

  beginRound(calls: readonly ToolCall[]): void {
    const { subAgents } = this.#scope.settings;
    this.#round = calls.flatMap(({ toolCallId, toolName }) => {
      const link = subAgents?.find(toolName);
      return link === undefined ? [] : [this.call(toolCallId, link)];
    });
  }

  /** What a call of this round that was promised nothing yet may use of what is left. */
  shareOf(left: Budget): Budget {
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
   * Whether a call continues the conversation that this context has had with its sub-agent. Of calls
   * at the same time one does: the others would be told of each other's work as if it were theirs.
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

  /** The sub-agent has begun. When it was called for a task that is over by now, it is stopped. */
  begun(call: ChildCall, link: SubAgentLink): void {
    if (this.#isOver) this.letGo(call, link);
  }

  /** The result of a sub-agent is no longer needed. */
  letGo(call: ChildCall, { name: agent }: SubAgentLink): void {
    const { child, sent, isSettled } = call;
    const { owner } = this.#scope.turn.caller;
    const cancels = this.#scope.settings.subAgents?.cancels;
    if (isSettled) return;
    if (child !== undefined) {
      call.isSettled = true;
      cancels?.add({ agent, owner, childTaskId: child.taskId });
    } else if (this.#isOver && sent !== undefined) {
      // It may have started anyway, and this process may end before it learns that.
      const { messageId, childContextId } = sent;
      cancels?.add({ agent, owner, message: { messageId, childContextId } });
    }
  }

  /**
   * The run ends. Unless the next process resumes it, or another run has taken it over,
   * every sub-agent that still works for it is told to stop, also those known only from the journal.
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

/** The same for all of them, and made once. */
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

/** A sub-agent, for the model of one run. */
function subAgentTool(
  link: SubAgentLink,
  around: { readonly run: RunSubAgents; readonly scope: LoopScope },
): Tool {
  const { name, confirm, timeoutMs } = link.settings;
  input ??= toolInput(name, SCHEMA);
  const { run, scope } = around;
  return {
    name,
    description: describe(link),
    input: input.schema,
    confirm,
    // A call that is made again finds the task that it began, or says that it cannot.
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

/** What the author says of it, else what it says of itself, else as much as is certain. */
function describe({ settings, info }: SubAgentLink): string {
  const { name, description } = settings;
  const own =
    description ?? info?.description ?? `The agent ${name}, which works on what it is told.`;
  const skills = (info?.skills ?? []).slice(0, MAX_SKILLS).map((skill) => skill.name);
  const listed = skills.length === 0 ? "" : `\nIts skills: ${skills.join(", ")}.`;
  return `${own}${listed}`.slice(0, MAX_DESCRIPTION);
}

interface WatchFacts {
  readonly link: SubAgentLink;
  readonly owner: string;
  readonly signal: AbortSignal;
}

/** How long to wait where the stream ended, or there is none. */
const AGAIN_MS = 10_000;

/**
 * Resolves when a sub-agent does not wait any more with the question that its call asked last:
 * somebody has answered it there, or it went on by itself. Never rejects, and never resolves once
 * the wait is over.
 */
async function watchChild(call: ChildCall, facts: WatchFacts): Promise<void> {
  const { signal } = facts;
  while (!signal.aborted) {
    try {
      if (await hasGoneOn(call, facts)) break;
    } catch (error) {
      if (signal.aborted) break;
      // That its task is gone is for the call to hear, when it looks itself.
      if (codeOf(error) === ERRORS.TaskNotFound.code) break;
    }
    await sleep(AGAIN_MS, undefined, { signal, ref: false }).catch(() => undefined);
  }
  if (signal.aborted) await new Promise(() => undefined);
}

const PATIENCE_MS = 24 * 3_600_000;

async function hasGoneOn(
  { child, question }: ChildCall,
  { link, owner, signal }: WatchFacts,
): Promise<boolean> {
  if (child === undefined || question === undefined) return true;
  const remote = await link.reach({ owner, signal, patienceMs: PATIENCE_MS });
  const run = remote.subscribe(child.taskId, { signal, reconnect: { forMs: PATIENCE_MS } });
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

/** What is counted, and can be shared. */
type Amounts = Pick<Budget, "tokens" | "costUsd">;

/**
 * What one call may use, of several that the model made at the same time: what the others were
 * promised is theirs, and what nobody has yet is shared by those who still wait, this one included.
 * What a call did not need is there for the next.
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
