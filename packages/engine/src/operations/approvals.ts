import {
  A2AError,
  type Approval,
  type ApprovalAnswer,
  EXTENSIONS,
  type Task,
  answerApproval,
  checkApprovalAnswer,
  invalidParams,
  openApprovals,
  userMessage,
  withDecider,
} from "@convoke/protocol";
import type { ListPosition, TaskRecord } from "../log/backend.ts";
import type { ServedAgent } from "../run/agents.ts";
import type { TaskSnapshot } from "../log/task-snapshot.ts";
import type { Call } from "./call.ts";
import {
  type OwnersCall,
  PageBudget,
  encodeToken,
  examineTasks,
  findListed,
  parsePosition,
} from "./list-page.ts";
import { acceptMessage } from "../messages/accept-message.ts";
import { newId } from "../task/new-id.ts";

/** A pending approval and the ids of its task. The task itself is left out because it may be large. */
export interface PendingApproval {
  readonly taskId: string;
  readonly contextId: string;
  /** The owner of the task. */
  readonly owner: string;
  /** The agent that asks. Absent if it is not served here. */
  readonly agent?: ServedAgent | undefined;
  readonly approval: Approval;
}

export interface ApprovalPage {
  readonly approvals: readonly PendingApproval[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
}

/** How many waiting tasks are examined for one page, whatever they wait for. */
const MAX_TASKS = 1000;

/**
 * A page of the pending approvals of the caller's tasks, most recent first; those of several owners
 * are ordered by the id of their task, newest first. The approvals of one task stay together, so a
 * page can have a few more than `pageSize`; it has fewer if they would exceed `limits.pageBytes`.
 */
export async function listApprovals(
  request: { readonly pageSize: number; readonly pageToken?: string | undefined },
  call: OwnersCall,
): Promise<ApprovalPage> {
  const approvals: PendingApproval[] = [];
  const budget = new PageBudget(call.engine.limits.pageBytes);
  let position = parsePosition(request.pageToken);
  let examined = 0;
  for await (const { position: next, found, record } of waitingTasks(call, position)) {
    const isFull = approvals.length >= request.pageSize || examined >= MAX_TASKS || budget.isSpent;
    if (isFull) return createPage(approvals, position, call);
    budget.read(found);
    const waiting = pendingApprovals(found.task, record, call);
    if (waiting.length > 0 && !budget.takes(waiting)) return createPage(approvals, position, call);
    approvals.push(...waiting);
    position = next;
    examined++;
  }
  return createPage(approvals, undefined, call);
}

/** The pending approvals of the caller's tasks with that id, which is unique only within a task. */
async function findApprovals(
  approvalId: string,
  call: OwnersCall,
): Promise<readonly PendingApproval[]> {
  const matching: PendingApproval[] = [];
  for await (const { found, record } of waitingTasks(call, undefined)) {
    const waiting = pendingApprovals(found.task, record, call);
    matching.push(...waiting.filter(({ approval }) => approval.id === approvalId));
  }
  return matching;
}

interface WaitingTask {
  readonly position: ListPosition;
  readonly found: TaskSnapshot;
  readonly record: TaskRecord;
}

/**
 * The tasks that wait for input, starting after a position. Each is loaded when the generator
 * reaches it, so that only one at a time is in memory.
 */
async function* waitingTasks(
  call: OwnersCall,
  start: ListPosition | undefined,
): AsyncGenerator<WaitingTask> {
  const { engine } = call;
  for await (const { record, isMatch } of examineTasks(call, { state: "input-required" }, start)) {
    if (!isMatch) continue;
    const { taskId, statusAt, owner } = record;
    const found = await findListed(taskId, engine, { owner });
    if (found !== undefined) yield { position: { taskId, statusAt }, found, record };
  }
}

function pendingApprovals(
  task: Task,
  record: TaskRecord,
  { engine }: OwnersCall,
): readonly PendingApproval[] {
  const { id: taskId, contextId } = task;
  const { owner } = record;
  const agent = engine.agents.of(record);
  const open = openApprovals(task, new Date(engine.now()));
  return open.map((approval) => ({ taskId, contextId, owner, agent, approval }));
}

function createPage(
  approvals: readonly PendingApproval[],
  position: ListPosition | undefined,
  { engine }: OwnersCall,
): ApprovalPage {
  const nextPageToken = position === undefined ? "" : encodeToken(engine.now(), position);
  return { approvals, nextPageToken };
}

/** A decision on a pending approval. */
export interface ApprovalDecision extends Omit<ApprovalAnswer, "digest"> {
  /** Digest of the arguments the caller has seen. Default: those that are pending. */
  readonly digest?: string | undefined;
  /** The task of the approval, required if several tasks have an approval with this id. */
  readonly taskId?: string | undefined;
}

/**
 * Decides a pending approval of any task of the caller, or of the owners that are named. Equivalent
 * to sending the answer as a message to the task: it is accepted or rejected, and stored, in the same
 * way. If another owner decides, the message says so, and the agent does not get its scopes.
 */
export async function decideApproval(
  decision: ApprovalDecision,
  call: OwnersCall & Pick<Call, "trace">,
): Promise<PendingApproval> {
  const { engine, caller, trace } = call;
  if (engine.isDraining) throw new A2AError("Unavailable", "the server is stopping");
  const waiting = await findApproval(decision, call);
  const { approval, contextId, owner, agent } = waiting;
  const { taskId: _, ...given } = decision;
  const data = { ...given, digest: decision.digest ?? approval.digest };
  const field = "body";
  const answer = checkApprovalAnswer(data, field);
  answerApproval(approval, { answer, field, by: caller.owner, now: new Date(engine.now()) });
  const { uri } = EXTENSIONS.approvals;
  const part = {
    kind: "data",
    data,
    metadata: { [uri]: { type: "approval-answer" } },
  } as const;
  const words = { ...userMessage(newId(engine.now()), [part]), taskId: waiting.taskId, contextId };
  const message = owner === caller.owner ? words : withDecider(words, caller.owner);
  const sender = owner === caller.owner ? caller : { owner };
  const extensions = new Set([uri]);
  await acceptMessage(engine, { agent, message, caller: sender, trace, extensions });
  return waiting;
}

async function findApproval(
  { approvalId, taskId }: ApprovalDecision,
  call: OwnersCall,
): Promise<PendingApproval> {
  const found = await findApprovals(approvalId, call);
  const matching = found.filter((waiting) => taskId === undefined || waiting.taskId === taskId);
  const [one, ...others] = matching;
  if (one === undefined) {
    const id = JSON.stringify(approvalId);
    throw invalidParams(
      "id",
      `${id} is not a pending approval: it was decided or withdrawn, or never existed`,
    );
  }
  if (others.length === 0) return one;
  const tasks = matching.map((waiting) => waiting.taskId).join(", ");
  throw invalidParams("taskId", `is required: ${approvalId} is in several of your tasks, ${tasks}`);
}
