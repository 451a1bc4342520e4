import {
  type GetTaskRequest,
  type Task,
  type TaskState,
  withHistoryLength,
} from "@convoke/protocol";
import type { TaskRecord } from "../log/backend.ts";
import { type OwnersCall, encodeToken, examineTasks, parsePosition } from "./list-page.ts";

export interface TaskRecordsRequest {
  readonly contextId?: string;
  readonly state?: TaskState;
  readonly pageSize: number;
  readonly pageToken?: string;
}

/** A page of tasks without their content. */
export interface TaskRecordsPage {
  readonly records: readonly TaskRecord[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
}

/** How many tasks are examined for one page, whatever the filter is. */
const MAX_TASKS = 1000;

/**
 * A page of the caller's tasks, newest status first, or of the tasks of several owners, newest
 * first. A page can have fewer than `pageSize` tasks, even none, and still not be the last one: a
 * filter that few tasks match would otherwise read all of them for one request.
 */
export async function listTaskRecords(
  { pageSize, pageToken, ...filter }: TaskRecordsRequest,
  call: OwnersCall,
): Promise<TaskRecordsPage> {
  const records: TaskRecord[] = [];
  let position = parsePosition(pageToken);
  let examined = 0;
  for await (const { record, isMatch } of examineTasks(call, filter, position)) {
    const isFull = records.length >= pageSize || examined >= MAX_TASKS;
    if (isFull && position !== undefined) {
      return { records, nextPageToken: encodeToken(call.engine.now(), position) };
    }
    if (isMatch) records.push(record);
    position = record;
    examined++;
  }
  return { records, nextPageToken: "" };
}

/** A task of the caller or of one of several owners, and its owner. Any other looks like an unknown one. */
export async function readTask(
  { taskId, historyLength }: GetTaskRequest,
  { engine, caller, owners, agent }: OwnersCall,
): Promise<{ readonly task: Task; readonly owner: string }> {
  const live = engine.tasks.current(taskId);
  const owner = live?.owner ?? (await engine.backend.tasks.get(taskId))?.owner;
  const isMeant = owner !== undefined && owners?.(owner) === true;
  const subject = isMeant ? { owner } : caller;
  const { task } = await engine.tasks.find(taskId, engine.scope(subject, agent));
  return { task: withHistoryLength(task, historyLength), owner: subject.owner };
}
