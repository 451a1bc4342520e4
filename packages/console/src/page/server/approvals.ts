import type {
  Approval,
  ApprovalDecision,
  ApprovalOption,
  ApprovalOrigin,
  ApprovalPreview,
  ApprovalRisk,
  Metadata,
} from "@convoke/protocol";
import { sleep } from "@convoke/protocol/internal";
import { signal } from "@preact/signals";
import { about } from "./about.ts";
import { onTaskChange } from "./feed.ts";
import { ServerProblem, ask } from "./session.ts";

/** A tool call that waits for a decision. */
export interface ApprovalRequest {
  readonly id: string;
  readonly taskId: string;
  readonly contextId: string;
  readonly agentId?: string;
  /** The owner of the task, for those who decide for others. */
  readonly owner?: string;
  readonly title: string;
  readonly prompt?: string;
  readonly risk: ApprovalRisk;
  /** The name of the tool. */
  readonly tool: string;
  readonly arguments: Metadata;
  readonly digest: string;
  readonly preview?: ApprovalPreview;
  readonly options: readonly ApprovalOption[];
  readonly createdAt: string;
  readonly expiresAt?: string;
  readonly from?: readonly ApprovalOrigin[];
}

/** What a visitor decides. */
export interface Decision {
  readonly option: ApprovalOption;
  /** With `reject`: why, for the agent. */
  readonly feedback?: string | undefined;
  /** With `edit`: the arguments to use instead. */
  readonly arguments?: Metadata | undefined;
}

/** How an approval ended, as far as this visitor may know. */
export interface DecidedApproval {
  readonly approval: ApprovalRequest;
  readonly decision: Partial<ApprovalDecision>;
  /** Whether it was decided on this page. */
  readonly isMine: boolean;
}

/** All approvals that wait, the newest first. Absent until they have been read. */
export const openApprovals = signal<readonly ApprovalRequest[] | undefined>(undefined);

/** What was decided while this page was open, here or elsewhere, the newest first. */
export const decidedApprovals = signal<readonly DecidedApproval[]>([]);

const MAX_DECIDED = 50;

/** An approval of a task, in the form of the list. */
export function toRequest(
  approval: Approval,
  task: { readonly id: string; readonly contextId: string },
): ApprovalRequest {
  const { tool, decision: _, ...rest } = approval;
  const { id: taskId, contextId } = task;
  return { ...rest, taskId, contextId, tool: tool.name, arguments: tool.arguments };
}

/** Reads the list, and what became of the approvals that are no longer in it. */
export async function loadApprovals(): Promise<void> {
  const owner = about.value?.caller.isApprover === true ? "&owner=*" : "";
  const { approvals } = await ask<{ readonly approvals: readonly ApprovalRequest[] }>(
    `/convoke/approvals?agent=*&pageSize=100${owner}`,
  );
  const ids = new Set(approvals.map(({ id }) => id));
  const gone = (openApprovals.value ?? []).filter(({ id }) => !ids.has(id));
  openApprovals.value = approvals;
  await Promise.all(gone.map(lookUpDecision));
}

/** Loads the list now and after changes, until the signal is aborted. */
export function watchApprovals(signal: AbortSignal): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const load = (): void => {
    timer = undefined;
    // The page says elsewhere that the server cannot be reached.
    void loadApprovals().catch(() => undefined);
  };
  const stop = onTaskChange((change) => {
    const isOpen = openApprovals.value?.some(
      ({ taskId }) => change !== "reload" && taskId === change.id,
    );
    if (change === "reload" || change.state === "input-required" || isOpen) {
      timer ??= setTimeout(load, 100);
    }
  });
  signal.addEventListener("abort", () => (stop(), clearTimeout(timer)), { once: true });
  load();
}

/**
 * Decides an approval. Of several deciders the first wins: for the others it resolves as well, and the
 * list of decided ones says by whom.
 */
export async function decide(approval: ApprovalRequest, decision: Decision): Promise<void> {
  const { option, feedback, arguments: edited } = decision;
  const { id, taskId, digest, owner } = approval;
  const query = owner === undefined ? "agent=*" : "owner=*";
  try {
    await ask(`/convoke/approvals/${encodeURIComponent(id)}:answer?${query}`, {
      method: "POST",
      body: { decision: option, feedback, arguments: edited, digest, taskId },
    });
  } catch (error) {
    if (!(error instanceof ServerProblem) || !/not a pending|already/.test(error.message))
      throw error;
    return lookUpDecision(approval);
  }
  const outcome = option === "reject" ? "rejected" : "approved";
  addDecided({
    approval,
    decision: { outcome, option, ...(feedback && { feedback }) },
    isMine: true,
  });
}

/** The agent notes a decision a moment after the server has accepted it. */
const LOOK_AGAIN_MS = [0, 200, 500, 1000, 2000];

/** Finds out what became of an approval that was not decided here. */
async function lookUpDecision(approval: ApprovalRequest): Promise<void> {
  const { id } = approval;
  openApprovals.value = openApprovals.value?.filter((one) => one.id !== id);
  for (const ms of LOOK_AGAIN_MS) {
    await sleep(ms);
    if (decidedApprovals.value.some((one) => one.approval.id === id)) return;
    const decision = await findDecision(approval).catch(() => undefined);
    if (decision !== undefined) return addDecided({ approval, decision, isMine: false });
  }
  addDecided({ approval, decision: {}, isMine: false });
}

function addDecided(decided: DecidedApproval): void {
  const { id } = decided.approval;
  openApprovals.value = openApprovals.value?.filter((one) => one.id !== id);
  const others = decidedApprovals.value.filter((one) => one.approval.id !== id);
  decidedApprovals.value = [decided, ...others].slice(0, MAX_DECIDED);
}

interface LogPage {
  readonly next?: number;
  readonly events: readonly {
    readonly event: { readonly kind: string; readonly approvalId?: string };
  }[];
}

/** The decision in the log of the task, which operators can read. */
async function findDecision({
  id,
  taskId,
  agentId,
}: ApprovalRequest): Promise<ApprovalDecision | undefined> {
  const agent = about.value?.agents.find((one) => one.id === agentId);
  const path = `${agent?.path ?? ""}/convoke/tasks/${encodeURIComponent(taskId)}/log`;
  let after = 0;
  for (let page = 0; page < 10; page++) {
    const { events, next } = await ask<LogPage>(`${path}?limit=1000&join=chunks&after=${after}`);
    const found = events.findLast(
      ({ event }) => event.kind === "internal:approval-decided" && event.approvalId === id,
    );
    if (found !== undefined) return found.event as unknown as ApprovalDecision;
    if (next === undefined) return undefined;
    after = next;
  }
  return undefined;
}

/** A tool that may run without being asked for, until it is taken back. */
export interface Grant {
  readonly id: string;
  readonly agentId?: string;
  readonly tool: string;
  readonly owner?: string;
  readonly grantedAt?: string;
}

/** What was approved for always. Empty if the server does not list it. */
export async function listGrants(): Promise<readonly Grant[]> {
  try {
    return (await ask<{ readonly grants: readonly Grant[] }>("/convoke/grants?agent=*")).grants;
  } catch (error) {
    if (error instanceof ServerProblem && error.status === 404) return [];
    throw error;
  }
}

export async function takeBack({ id }: Grant): Promise<void> {
  await ask(`/convoke/grants/${encodeURIComponent(id)}?agent=*`, { method: "DELETE" });
}
