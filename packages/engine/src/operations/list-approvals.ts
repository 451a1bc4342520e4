import { type Approval, type Task, invalidParams, openApprovals } from "@convoke/protocol";
import type { ListPosition } from "../log/backend.ts";
import type { Folded } from "../log/load-task.ts";
import type { Call } from "./call.ts";
import { PageBudget, findListed } from "./list-page.ts";
import { decodeToken, encodeToken } from "./list-token.ts";

/** An approval that waits, and the names of the task that waits for it: the task itself may be large. */
export interface WaitingApproval {
  readonly taskId: string;
  readonly contextId: string;
  readonly approval: Approval;
}

export interface ApprovalPage {
  readonly approvals: readonly WaitingApproval[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
}

type Listing = Pick<Call, "engine" | "caller">;

/** How many waiting tasks are looked through for one page, whatever they wait for. */
const MOST_TASKS = 1000;
const BATCH = 64;

/**
 * A page of the open approvals of the caller's tasks, those that were asked for last first. The
 * approvals of one task stay together, so that a page may have some more than were asked for.
 * It has fewer where they would be more than `limits.pageBytes`.
 */
export async function listApprovals(
  request: { readonly pageSize: number; readonly pageToken?: string | undefined },
  call: Listing,
): Promise<ApprovalPage> {
  const approvals: WaitingApproval[] = [];
  const budget = new PageBudget(call.engine.limits.pageBytes);
  let position = positionOf(request.pageToken);
  let looked = 0;
  for await (const { place, found } of waitingTasks(call, position)) {
    const isFull = approvals.length >= request.pageSize || looked >= MOST_TASKS || budget.isSpent;
    if (isFull) return pageOf(approvals, position, call);
    budget.read(found);
    const waiting = approvalsOf(found.task, call);
    if (waiting.length > 0 && !budget.takes(waiting)) return pageOf(approvals, position, call);
    approvals.push(...waiting);
    position = place;
    looked++;
  }
  return pageOf(approvals, undefined, call);
}

/** Every open approval of the caller's tasks with that id, which is unique in its task alone. */
export async function findApprovals(
  approvalId: string,
  call: Listing,
): Promise<readonly WaitingApproval[]> {
  const matching: WaitingApproval[] = [];
  for await (const { found } of waitingTasks(call, undefined)) {
    const waiting = approvalsOf(found.task, call);
    matching.push(...waiting.filter(({ approval }) => approval.id === approvalId));
  }
  return matching;
}

/**
 * The tasks that wait for input, from a place on: the store finds them by their state. Each is read
 * when it is asked for, so that one of them at a time is in memory.
 */
async function* waitingTasks(
  call: Listing,
  start: ListPosition | undefined,
): AsyncGenerator<{ readonly place: ListPosition; readonly found: Folded }> {
  const { engine, caller } = call;
  const query = { owner: caller.owner, state: "input-required", limit: BATCH } as const;
  await engine.settled();
  for (let after = start; ;) {
    const { records } = await engine.backend.tasks.list({ ...query, ...(after && { after }) });
    for (const { taskId, statusAt } of records) {
      after = { taskId, statusAt };
      const found = await findListed(taskId, call);
      if (found !== undefined) yield { place: after, found };
    }
    if (records.length < BATCH) return;
  }
}

function approvalsOf(task: Task, { engine }: Listing): readonly WaitingApproval[] {
  const { id: taskId, contextId } = task;
  const open = openApprovals(task, new Date(engine.now()));
  return open.map((approval) => ({ taskId, contextId, approval }));
}

function positionOf(pageToken: string | undefined): ListPosition | undefined {
  if (pageToken === undefined || pageToken === "") return undefined;
  const token = decodeToken(pageToken);
  if (token === undefined) throw invalidParams("pageToken", "is not a token of an earlier page");
  return token.position;
}

function pageOf(
  approvals: readonly WaitingApproval[],
  position: ListPosition | undefined,
  { engine }: Listing,
): ApprovalPage {
  const nextPageToken = position === undefined ? "" : encodeToken(engine.now(), position);
  return { approvals, nextPageToken };
}
