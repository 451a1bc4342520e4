import { type GetTaskRequest, type Task, withHistoryLength } from "@convoke/protocol";
import type { Call } from "./call.ts";
import { callerView, viewResult } from "./caller-view.ts";

/** Returns the current task. */
export async function getTask(request: GetTaskRequest, call: Call): Promise<Task> {
  const { task } = await call.engine.tasks.find(request.taskId, call.caller);
  return viewResult(withHistoryLength(task, request.historyLength), callerView(call));
}
