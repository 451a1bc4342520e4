import { type Budget, ServerStopping } from "@convoke/protocol";
import type { ToolCall } from "../loop/call-result.ts";
import type { LoopScope } from "../loop/loop-scope.ts";
import type { Tool } from "../tools/tool.ts";
import { budgetShare } from "./budget-share.ts";
import { ChildCall } from "./child-call.ts";
import type { SubAgentLink, SubAgentReport } from "./sub-agent-link.ts";
import { subAgentTool } from "./sub-agent-tool.ts";

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
  /** The task is over, so that whoever works for it is told to stop. */
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
   * Whether a call goes on with the conversation that its sub-agent has had with this one. Of calls
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

  /** Nobody waits any more for what a sub-agent does. */
  letGo(call: ChildCall, { name: agent }: SubAgentLink): void {
    const { child, sent, isSettled } = call;
    const { owner } = this.#scope.turn.caller;
    const cancels = this.#scope.settings.subAgents?.cancels;
    if (isSettled) return;
    if (child !== undefined) {
      call.isSettled = true;
      cancels?.add({ agent, owner, childTaskId: child.taskId });
    } else if (this.#isOver && sent !== undefined) {
      // It may have begun all the same: this process may end before it hears of it.
      const { messageId, childContextId } = sent;
      cancels?.add({ agent, owner, message: { messageId, childContextId } });
    }
  }

  /**
   * The run ends. Unless the next process goes on with it, or another run has taken it over,
   * everybody who still works for it is told to stop, also those whom only the journal knows.
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
