import type { Metadata } from "../../part.ts";
import { checkOf } from "../check.ts";
import { TASK_ID, TASK_QUERY } from "./schemas.ts";

const checkTaskQuery = checkOf(TASK_QUERY);
const checkTaskId = checkOf(TASK_ID);

interface TaskQuery {
  readonly id: string;
  readonly historyLength?: number;
  readonly metadata?: Metadata;
}

/** `taskId` is a common spelling of `id`; it counts only where `id` is absent. */
export function decodeTaskQuery(value: unknown): TaskQuery {
  const params = value as { id?: unknown; taskId?: unknown } | undefined;
  if (params?.id !== undefined || params?.taskId === undefined) {
    checkTaskQuery(params, "params");
    return params as unknown as TaskQuery;
  }
  checkTaskId(params.taskId, "taskId");
  const named = { ...params, id: params.taskId };
  checkTaskQuery(named, "params");
  return named as unknown as TaskQuery;
}
