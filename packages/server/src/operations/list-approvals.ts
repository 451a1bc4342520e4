import { type Approval, type Task, invalidParams, openApprovals } from "@convoke/protocol";
import type { ListPosition } from "../tasks/backend.ts";
import type { Call } from "./call.ts";
import { decodeToken, encodeToken } from "./list-token.ts";

/** An approval that waits, and the task that waits for it. */
export interface WaitingApproval {
  readonly task: Task;
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
 */
export async function listApprovals(
  request: { readonly pageSize: number; readonly pageToken?: string | undefined },
  call: Listing,
): Promise<ApprovalPage> {
  const approvals: WaitingApproval[] = [];
  let position = positionOf(request.pageToken);
  await call.engine.settled();
  for (let looked = 0; looked < MOST_TASKS;) {
    const batch = await waitingTasks(call, position);
    looked += batch.length;
    for (const { place, task } of batch) {
      if (approvals.length >= request.pageSize) return pageOf(approvals, position, call);
      approvals.push(...approvalsOf(task, call));
      position = place;
    }
    if (batch.length < BATCH) return pageOf(approvals, undefined, call);
  }
  return pageOf(approvals, position, call);
}

/** Every open approval of the caller's tasks with that id, which is unique in its task alone. */
export async function findApprovals(
  approvalId: string,
  call: Listing,
): Promise<readonly WaitingApproval[]> {
  const found: WaitingApproval[] = [];
  await call.engine.settled();
  for (let position: ListPosition | undefined; ;) {
    const batch = await waitingTasks(call, position);
    for (const { task } of batch) {
      found.push(...approvalsOf(task, call).filter(({ approval }) => approval.id === approvalId));
    }
    position = batch.at(-1)?.place;
    if (batch.length < BATCH) return found;
  }
}

/** Some of the tasks that wait for input, from a place on: the store finds them by their state. */
async function waitingTasks(
  { engine, caller }: Listing,
  after: ListPosition | undefined,
): Promise<readonly { readonly place: ListPosition; readonly task: Task }[]> {
  const { records } = await engine.backend.tasks.list({
    owner: caller.owner,
    state: "input-required",
    limit: BATCH,
    ...(after && { after }),
  });
  return Promise.all(
    records.map(async ({ taskId, statusAt }) => {
      const { task } = await engine.tasks.find(taskId, caller);
      return { place: { taskId, statusAt }, task };
    }),
  );
}

function approvalsOf(task: Task, { engine }: Listing): readonly WaitingApproval[] {
  return openApprovals(task, new Date(engine.now())).map((approval) => ({ task, approval }));
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
