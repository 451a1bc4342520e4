import { A2AError } from "../../errors.ts";
import type { ListTasksRequest, TaskPage } from "../../requests.ts";
import { decodeTask } from "./task.ts";
import { encodeTaskState } from "./task-state.ts";

/** The table of 0.3 §3.5.6 has a list on REST, and says no more of it; servers that have it take what 1.0 takes. */
export function encodeListTasks({ state, ...request }: ListTasksRequest): object {
  return { ...request, ...(state !== undefined && { status: encodeTaskState(state) }) };
}

/** By the table the answer is the bare list, and with servers of later date a page. */
export function decodeTaskPage(value: unknown): TaskPage {
  const page = (Array.isArray(value) ? { tasks: value } : value) as Partial<TaskPage> | null;
  if (!Array.isArray(page?.tasks ?? [])) {
    throw new A2AError("InvalidAgentResponse", "the tasks are not a list");
  }
  const tasks = (page?.tasks ?? []).map(decodeTask);
  return {
    tasks,
    nextPageToken: page?.nextPageToken ?? "",
    pageSize: page?.pageSize ?? tasks.length,
    totalSize: page?.totalSize ?? tasks.length,
  };
}
