import {
  type ListTasksRequest,
  type TaskPage,
  invalidParams,
  withHistoryLength,
} from "@convoke/protocol";
import type { TaskQuery, TaskRecord } from "../tasks/backend.ts";
import { statusBefore } from "../tasks/status-before.ts";
import type { Call } from "./call.ts";
import { type ListToken, decodeToken, encodeToken } from "./list-token.ts";

/** A task at its place in the list, which is where it stood when the walk began. */
interface Placed {
  readonly taskId: string;
  readonly statusAt: number;
}

/**
 * A page of the caller's tasks, newest status first. All pages of one walk show
 * the order of the moment it began: a task that gets another status meanwhile
 * keeps its place, so it is neither skipped nor shown twice.
 */
export async function listTasks(request: ListTasksRequest, call: Call): Promise<TaskPage> {
  const { engine, caller } = call;
  const { pageSize, historyLength } = request;
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
  const shown = placed.slice(0, pageSize);
  const last = shown.at(-1);
  const folded = await Promise.all(shown.map(({ taskId }) => engine.tasks.find(taskId, caller)));
  const isLast = placed.length <= pageSize || last === undefined;
  return {
    tasks: folded.map(({ task }) => withHistoryLength(task, historyLength)),
    nextPageToken: isLast ? "" : encodeToken(at, last),
    pageSize,
    totalSize: total,
  };
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
  const earlier = await Promise.all(changed.map((record) => placeAt(record, at, call)));
  return earlier.filter(
    (placed) =>
      placed !== undefined &&
      (state === undefined || placed.state === state) &&
      (since === undefined || placed.statusAt >= since) &&
      (position === undefined || newestFirst(position, placed) < 0),
  ) as readonly Placed[];
}

async function placeAt({ taskId, head }: TaskRecord, at: number, { engine }: Call) {
  const status = await statusBefore(engine.backend, { taskId, head, at });
  return status && { taskId, ...status };
}

function newestFirst(left: Placed, right: Placed): number {
  if (left.statusAt !== right.statusAt) return right.statusAt - left.statusAt;
  return left.taskId < right.taskId ? 1 : Number(left.taskId > right.taskId) * -1;
}
