import {
  type ListTasksRequest,
  type StatusUpdateEvent,
  type Task,
  type TaskPage,
  type TaskState,
  invalidParams,
  withHistoryLength,
} from "@convoke/protocol";
import type { Backend, Seq, TaskQuery, TaskRecord } from "../log/backend.ts";
import { agentFilter } from "../run/live-tasks.ts";
import { type Call, scopeOf } from "./call.ts";
import { callerView, viewResult } from "./caller-view.ts";
import { type ListToken, PageBudget, decodeToken, encodeToken, findListed } from "./list-page.ts";

/** A task at its position in the list, which is its position when the listing started. */
interface ListedTask {
  readonly taskId: string;
  readonly statusAt: number;
}

/**
 * A page of the caller's tasks, newest status first. All pages of a listing use
 * the order at the time it started: a task whose status changes meanwhile keeps
 * its position, so it is neither skipped nor shown twice. A page has fewer than
 * `pageSize` tasks if they would exceed `limits.pageBytes`.
 */
export async function listTasks(request: ListTasksRequest, call: Call): Promise<TaskPage> {
  const { engine } = call;
  const { pageSize } = request;
  const { at, position } = await startOrResume(request, call);
  const { since, ...query } = toQuery(request, call);
  const { records, total } = await engine.backend.tasks.list({
    ...query,
    ...(since !== undefined && { since }),
    until: at,
    limit: pageSize + 1,
    ...(position && { after: position }),
  });
  const moved = await movedSince(request, call, { at, position });
  const placed = [...records, ...moved].toSorted(newestFirst);
  const { tasks, last } = await readTasks(placed.slice(0, pageSize), request, call);
  const isLast = last === undefined || last === placed.at(-1);
  return {
    tasks,
    nextPageToken: isLast ? "" : encodeToken(at, last),
    pageSize,
    totalSize: total,
  };
}

/** Loads as many of the tasks as fit on a page, one at a time because each may be large. Returns the last one, too. */
async function readTasks(
  listed: readonly ListedTask[],
  request: ListTasksRequest,
  call: Call,
): Promise<{ readonly tasks: readonly Task[]; readonly last: ListedTask | undefined }> {
  const budget = new PageBudget(call.engine.limits.pageBytes);
  const view = callerView(call);
  const tasks: Task[] = [];
  let last: ListedTask | undefined;
  for (const entry of listed) {
    const found = await findListed(entry.taskId, call.engine, scopeOf(call));
    if (found !== undefined) {
      budget.read(found);
      const shown = await viewResult(shownTask(found.task, request), view, call);
      if (!budget.takes(shown)) break;
      tasks.push(shown);
    }
    last = entry;
    if (budget.isSpent) break;
  }
  return { tasks, last };
}

/** Leaves out what the request did not ask for, so that it is not kept in memory until the page is written. */
function shownTask(task: Task, { historyLength, includeArtifacts }: ListTasksRequest): Task {
  const shown = withHistoryLength(task, historyLength);
  if (includeArtifacts) return shown;
  const { artifacts: _, ...rest } = shown;
  return rest;
}

/** The listing that a page belongs to. A new one includes everything written before it started. */
async function startOrResume({ pageToken }: ListTasksRequest, call: Call): Promise<ListToken> {
  const { engine } = call;
  if (pageToken === undefined) {
    const now = engine.clock.instant();
    await engine.settled();
    return { at: await startTime(now, call), position: undefined };
  }
  const token = decodeToken(pageToken);
  if (token === undefined) throw invalidParams("pageToken", "is not a token of an earlier page");
  return token;
}

/** The current time, or the time of the newest status if the clock was set back. */
async function startTime(now: number, call: Call): Promise<number> {
  const { records } = await call.engine.backend.tasks.list({ ...ownTasks(call), limit: 1 });
  const newest = records[0]?.statusAt ?? now;
  return newest > now + CLOCK_DRIFT_MS ? newest : now;
}

/** A status further in the future was not written at the same moment. */
const CLOCK_DRIFT_MS = 2000;

/** The tasks that the caller can list: its own, and of several agents only those of one. */
function ownTasks(call: Call): Pick<TaskQuery, "owner" | "agentId"> {
  const scope = scopeOf(call);
  return { owner: scope.owner, ...agentFilter(scope) };
}

function toQuery(request: ListTasksRequest, call: Call): Omit<TaskQuery, "limit"> {
  const { contextId, state, statusTimestampAfter } = request;
  return {
    ...ownTasks(call),
    ...(contextId !== undefined && { contextId }),
    ...(state !== undefined && { state }),
    ...(statusTimestampAfter !== undefined && { since: Date.parse(statusTimestampAfter) }),
  };
}

/** Tasks whose status changed since the listing started, at their original position, if they belong on this page. */
async function movedSince(
  request: ListTasksRequest,
  call: Call,
  { at, position }: ListToken,
): Promise<readonly ListedTask[]> {
  const { backend } = call.engine;
  const { contextId, state, since } = toQuery(request, call);
  const changed = await backend.tasks.changedSince({
    ...ownTasks(call),
    at,
    ...(contextId !== undefined && { contextId }),
  });
  const moved: ListedTask[] = [];
  // One at a time, because finding the original position reads the end of the log.
  for (const record of changed) {
    const placed = await positionAt(record, at, call);
    const isShown =
      placed !== undefined &&
      (state === undefined || placed.state === state) &&
      (since === undefined || placed.statusAt >= since) &&
      (position === undefined || newestFirst(position, placed) < 0);
    if (isShown) moved.push(placed);
  }
  return moved;
}

async function positionAt({ taskId, head }: TaskRecord, at: number, { engine }: Call) {
  const status = await statusBefore(engine.backend, { taskId, head, at });
  return status && { taskId, ...status };
}

function newestFirst(left: ListedTask, right: ListedTask): number {
  if (left.statusAt !== right.statusAt) return right.statusAt - left.statusAt;
  return left.taskId < right.taskId ? 1 : Number(left.taskId > right.taskId) * -1;
}

/** Events that set a status start like this, so that the others need not be parsed. */
const SETS_STATUS = /^\{"kind":"(?:status-update|task)"/;

const PAGE = 256;

/** The status of a task at a given time, and since when, found by reading its log backwards. */
async function statusBefore(
  backend: Backend,
  { taskId, head, at }: { readonly taskId: string; readonly head: Seq; readonly at: number },
): Promise<{ readonly state: TaskState; readonly statusAt: number } | undefined> {
  for (let end = head; end > 0;) {
    const start = Math.max(0, end - PAGE);
    const page = await backend.read(taskId, start, end - start);
    for (const { json } of page.toReversed()) {
      if (!SETS_STATUS.test(json)) continue;
      const { status } = JSON.parse(json) as StatusUpdateEvent | Task;
      const statusAt = Date.parse(status.timestamp ?? "");
      if (statusAt <= at) return { state: status.state, statusAt };
    }
    end = start;
  }
  return undefined;
}
