import { type Approval, type ApprovalDecision, agentMessage } from "@convoke/protocol";
import { type ApprovalDecidedEvent, digestArguments } from "../approvals/gate.ts";
import { grantedIn } from "../approvals/grants.ts";
import { readsWordsOnly, withApprovals } from "../approvals/question-message.ts";
import type { ToolCall } from "../run/call-result.ts";
import type { LoopScope } from "../run/loop-scope.ts";

/** What the caller has granted in one run: decisions, grants that cover more than one call, and credentials. */
export class RunApprovals {
  readonly #scope: LoopScope;
  readonly #decisions: ApprovalDecidedEvent[];
  readonly #granted: Set<string>;
  /** What the caller has sent for this task, by name. */
  readonly credentials = new Map<string, string>();

  constructor(scope: LoopScope) {
    this.#scope = scope;
    this.#decisions = [...scope.journal.decisions];
    this.#granted = new Set(grantedIn(scope.turn.conversation));
    for (const { outcome, option, toolName } of this.#decisions) {
      const isLasting = option === "conversation" || option === "always";
      if (outcome === "approved" && isLasting) this.#granted.add(toolName);
    }
  }

  get decisions(): readonly ApprovalDecidedEvent[] {
    return this.#decisions;
  }

  /** The last decision on a call. */
  decisionOf(toolCallId: string): ApprovalDecidedEvent | undefined {
    return this.#decisions.findLast((decision) => decision.toolCallId === toolCallId);
  }

  /** Identical in every attempt, so that the caller is asked about a call only once. */
  idFor(toolCallId: string): string {
    return `${this.#scope.runId}-${toolCallId}`;
  }

  /** Records a decision, for the arguments of the approval or the edited ones that replace them. */
  decided(
    approval: Approval,
    decision: ApprovalDecision,
    edited: Approval["tool"]["arguments"] | undefined,
  ): void {
    const { callId: toolCallId, name: toolName } = approval.tool;
    this.#note({
      approvalId: approval.id,
      toolCallId,
      toolName,
      digest: edited === undefined ? approval.digest : digestArguments(edited),
      ...(edited && { arguments: edited }),
      ...decision,
    });
  }

  /**
   * Remembers that a tool may run from now on: in this run, in a message of the task, where later
   * tasks of the conversation find it, and for "always" in the agent's grant store.
   */
  async grant(
    approval: Approval,
    option: "conversation" | "always",
    { by, at }: { readonly by: string; readonly at: Date },
  ): Promise<void> {
    const { turn, settings, runId } = this.#scope;
    const { name: toolName, callId } = approval.tool;
    const { owner } = turn.caller;
    this.#granted.add(toolName);
    if (option === "always") {
      await settings.approvals.grants.add({ agent: settings.agentName, owner, toolName });
    }
    const { id: taskId, contextId } = turn.task;
    const forHowLong = option === "always" ? "from now on" : "for the rest of this conversation";
    const decision: ApprovalDecision = {
      outcome: "approved",
      option,
      decidedBy: by,
      decidedAt: at.toISOString(),
    };
    const place = this.#decisions.findIndex(({ toolCallId }) => toolCallId === callId);
    const words = agentMessage(`${runId}-grant-${place + 1}`, `${toolName} may run ${forHowLong}.`);
    const message = withApprovals(words, {
      approvals: [{ ...approval, decision }],
      isPlain: readsWordsOnly(turn.extensions),
    });
    const status = { state: "working", message } as const;
    this.#scope.say({ kind: "status-update", taskId, contextId, status, final: false });
  }

  /** Decides on a call from a grant or an earlier decision; false if the caller must be asked. */
  async applyGrant({ toolCallId, toolName }: ToolCall, digest: string): Promise<boolean> {
    const { turn, settings } = this.#scope;
    const { owner } = turn.caller;
    const grant = { agent: settings.agentName, owner, toolName };
    const isConversation = this.#granted.has(toolName);
    if (!isConversation && !(await settings.approvals.grants.isGranted(grant))) return false;
    this.#note({
      toolCallId,
      toolName,
      digest,
      outcome: "approved",
      option: isConversation ? "conversation" : "always",
      decidedBy: owner,
      decidedAt: turn.now().toISOString(),
    });
    return true;
  }

  #note(facts: Omit<ApprovalDecidedEvent, "kind" | "taskId" | "timestamp">): void {
    const kind = "internal:approval-decided";
    const taskId = this.#scope.turn.task.id;
    const event = { ...facts, kind, taskId } as ApprovalDecidedEvent;
    this.#scope.note(event);
    this.#decisions.push(event);
  }
}
