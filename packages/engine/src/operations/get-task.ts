import { type GetTaskRequest, type Task, withHistoryLength } from "@convoke/protocol";
import { type Call, scopeOf } from "./call.ts";
import { callerView, viewResult } from "./caller-view.ts";
import { activeDialect, taskInDialect } from "./dialects.ts";

/** Returns the current task. */
export async function getTask(request: GetTaskRequest, call: Call): Promise<Task> {
  const found = await call.engine.tasks.find(request.taskId, scopeOf(call));
  const dialect = activeDialect(call);
  const task = await taskInDialect(dialect, call.engine, found);
  const shown = withHistoryLength(task, request.historyLength);
  return viewResult(shown, callerView(call, undefined, dialect), call);
}
