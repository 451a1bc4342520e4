import { A2AError, type CancelTaskRequest, type Task, isTerminal } from "@convoke/protocol";
import { cancelTask as cancel } from "../lifecycle/end-task.ts";
import { type Call, scopeOf } from "./call.ts";
import { callerView, viewResult } from "./caller-view.ts";
import { activeDialect, taskInDialect } from "./dialects.ts";

/**
 * Cancels a task. A second cancel returns the canceled task in 1.0, where
 * cancel is idempotent (§3.3.1), and is an error in 0.3 (§7.4).
 */
export async function cancelTask(request: CancelTaskRequest, call: Call): Promise<Task> {
  const task = await canceledTask(request, call);
  const dialect = activeDialect(call);
  if (dialect === undefined) return viewResult(task, callerView(call));
  const found = await call.engine.tasks.find(request.taskId, scopeOf(call));
  const shown = await taskInDialect(dialect, call.engine, found);
  return viewResult(shown, callerView(call, undefined, dialect));
}

async function canceledTask({ taskId }: CancelTaskRequest, call: Call): Promise<Task> {
  const { engine, version } = call;
  const { task } = await engine.tasks.find(taskId, scopeOf(call));
  const { state } = task.status;
  if (state === "canceled" && version === "1.0") return task;
  if (isTerminal(state)) {
    throw new A2AError("TaskNotCancelable", `task ${taskId} is already ${state}`, {
      details: { taskId, state },
    });
  }
  return cancel(engine, taskId, scopeOf(call));
}
