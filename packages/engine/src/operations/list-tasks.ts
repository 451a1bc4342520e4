import {
  invalidParams,
  type ListTasksRequest,
  type StatusUpdateEvent,
  type Task,
  type TaskPage,
  type TaskState,
  withHistoryLength,
} from "@convoke/protocol";
import type { Backend, Seq, TaskQuery, TaskRecord } from "../log/backend.ts";
import type { Call } from "./call.ts";
import { PageBudget, findListed } from "./list-page.ts";
import { type ListToken, decodeToken, encodeToken } from "./list-token.ts";

const PAGE = 256;

/** Events that set a status begin so, which spares reading the others. */
const SETS_STATUS = /^\{"kind":"(?:status-update|task)"/;

/** A task at its place in the list, which is where it stood when the walk began. */
interface Placed {
  readonly taskId: string;
  readonly statusAt: number;
}

/**
 * A page of the caller's tasks, newest status first. All pages of one walk show
 * the order of the moment it began: a task that gets another status meanwhile
 * keeps its place, so it is neither skipped nor shown twice. A page ends before
 * `pageSize` where its tasks would be more than `limits.pageBytes`.
 */
export async function listTasks(request: ListTasksRequest, call: Call): Promise<TaskPage> {
  const { engine } = call;
  const { pageSize } = request;
  const { at, position } = await walkOf(request, call);
  const { since, ...query } = queryOf(request, call);
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

/** As many of the tasks as a page may show, and the last of them. One at a time: each may be large. */
async function readTasks(
  places: readonly Placed[],
  request: ListTasksRequest,
  call: Call,
): Promise<{ readonly tasks: readonly Task[]; readonly last: Placed | undefined }> {
  const budget = new PageBudget(call.engine.limits.pageBytes);
  const tasks: Task[] = [];
  let last: Placed | undefined;
  for (const place of places) {
    const found = await findListed(place.taskId, call);
    if (found !== undefined) {
      budget.read(found);
      const shown = shownTask(found.task, request);
      if (!budget.takes(shown)) break;
      tasks.push(shown);
    }
    last = place;
    if (budget.isSpent) break;
  }
  return { tasks, last };
}

/** Without what was not asked for, so that it is not kept in memory until the page is written. */
function shownTask(task: Task, { historyLength, includeArtifacts }: ListTasksRequest): Task {
  const shown = withHistoryLength(task, historyLength);
  if (includeArtifacts) return shown;
  const { artifacts: _, ...rest } = shown;
  return rest;
}

/** The walk that a page belongs to. A new one begins with everything that was written before it. */
async function walkOf({ pageToken }: ListTasksRequest, call: Call): Promise<ListToken> {
  const { engine } = call;
  if (pageToken === undefined) {
    const now = engine.clock.instant();
    await engine.settled();
    return { at: await beginning(now, call), position: undefined };
  }
  const token = decodeToken(pageToken);
  if (token === undefined) throw invalidParams("pageToken", "is not a token of an earlier page");
  return token;
}

/** Now; or, after the clock was set back, the time of the newest status. */
async function beginning(now: number, { engine, caller }: Call): Promise<number> {
  const { records } = await engine.backend.tasks.list({ owner: caller.owner, limit: 1 });
  const newest = records[0]?.statusAt ?? now;
  return newest > now + CLOCK_DRIFT_MS ? newest : now;
}

/** A status that is further ahead was not written in the same moment. */
const CLOCK_DRIFT_MS = 2000;

function queryOf(request: ListTasksRequest, { caller }: Call): Omit<TaskQuery, "limit"> {
  const { contextId, state, statusTimestampAfter } = request;
  return {
    owner: caller.owner,
    ...(contextId !== undefined && { contextId }),
    ...(state !== undefined && { state }),
    ...(statusTimestampAfter !== undefined && { since: Date.parse(statusTimestampAfter) }),
  };
}

/** Tasks that have moved on since the walk began, at the places they had then, as far as this page may show them. */
async function movedSince(
  request: ListTasksRequest,
  call: Call,
  { at, position }: ListToken,
): Promise<readonly Placed[]> {
  const { backend } = call.engine;
  const { owner, contextId, state, since } = queryOf(request, call);
  const changed = await backend.tasks.changedSince({
    owner,
    at,
    ...(contextId !== undefined && { contextId }),
  });
  const moved: Placed[] = [];
  // One at a time: looking up where a task stood reads the end of its log.
  for (const record of changed) {
    const placed = await placeAt(record, at, call);
    const isShown =
      placed !== undefined &&
      (state === undefined || placed.state === state) &&
      (since === undefined || placed.statusAt >= since) &&
      (position === undefined || newestFirst(position, placed) < 0);
    if (isShown) moved.push(placed);
  }
  return moved;
}

async function placeAt({ taskId, head }: TaskRecord, at: number, { engine }: Call) {
  const status = await statusBefore(engine.backend, { taskId, head, at });
  return status && { taskId, ...status };
}

function newestFirst(left: Placed, right: Placed): number {
  if (left.statusAt !== right.statusAt) return right.statusAt - left.statusAt;
  return left.taskId < right.taskId ? 1 : Number(left.taskId > right.taskId) * -1;
}

/** The status that a task had at some time, and since when, looked up in its log from the end. */
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
