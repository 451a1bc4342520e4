import type { CancelTaskRequest, Task } from "@convoke/protocol";
import { cancelTask as cancel } from "../lifecycle/end-task.ts";
import { type Call, scopeOf } from "./call.ts";
import { callerView, viewResult } from "./caller-view.ts";
import { activeDialect, taskInDialect } from "./dialects.ts";

/**
 * Cancels a task. A second cancel returns the canceled task in 1.0, where
 * cancel is idempotent (§3.3.1), and is an error in 0.3 (§7.4).
 */
export async function cancelTask({ taskId }: CancelTaskRequest, call: Call): Promise<Task> {
  const isRepeatable = call.version === "1.0";
  const task = await cancel(call.engine, taskId, scopeOf(call), { isRepeatable });
  const dialect = activeDialect(call);
  if (dialect === undefined) return viewResult(task, callerView(call), call);
  const found = await call.engine.tasks.find(taskId, scopeOf(call));
  const shown = await taskInDialect(dialect, call.engine, found);
  return viewResult(shown, callerView(call, undefined, dialect), call);
}
