import { type GetTaskRequest, type Task, withHistoryLength } from "@convoke/protocol";
import type { Call } from "./call.ts";

/** Returns the current task. */
export async function getTask(request: GetTaskRequest, { engine, caller }: Call): Promise<Task> {
  const { task } = await engine.tasks.find(request.taskId, caller);
  return withHistoryLength(task, request.historyLength);
}
