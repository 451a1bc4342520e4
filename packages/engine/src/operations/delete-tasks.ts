import { invalidParams, isTerminal } from "@convoke/protocol";
import { withoutAgents } from "../lifecycle/end-stored-tasks.ts";
import { endBeforeRemoval, removeTasks } from "../lifecycle/remove-tasks.ts";
import type { Backend, TaskRecord } from "../log/backend.ts";
import type { Logger } from "../logging/logger.ts";
import type { OwnersCall } from "./list-page.ts";
import { findTaskRecord } from "./task-log.ts";

export interface DeleteTasksRequest {
  readonly taskIds: readonly string[];
  /** Whether unfinished tasks are canceled first. Default: they are rejected. */
  readonly cancel?: boolean;
}

/**
 * Deletes tasks of the caller, or of the owners that are named. If one of them is unknown, or
 * unfinished and not to be canceled, nothing is deleted. Resolves to the deleted tasks.
 */
export async function deleteTasks(
  { taskIds, cancel = false }: DeleteTasksRequest,
  call: OwnersCall,
): Promise<readonly TaskRecord[]> {
  const { engine } = call;
  const records: TaskRecord[] = [];
  for (const taskId of new Set(taskIds)) records.push(await findTaskRecord(taskId, call));
  const unfinished = records.find(({ state }) => !isTerminal(state));
  if (unfinished !== undefined && !cancel) {
    const { taskId, state } = unfinished;
    const problem = `has ${taskId}, which is ${state}: cancel it first, or set cancel to true`;
    throw invalidParams("taskIds", problem);
  }
  for (const record of records) await endBeforeRemoval(engine, record);
  const ids = records.map(({ taskId }) => taskId);
  const removed = new Set(await removeTasks(engine, { taskIds: ids }));
  return records.filter(({ taskId }) => removed.has(taskId));
}

/**
 * Deletes tasks of all owners in a storage that no engine uses. Of one that servers may share only
 * ended tasks are deleted: a task that an agent may work on is canceled through its server.
 */
export async function deleteStoredTasks(
  backend: Backend,
  request: DeleteTasksRequest,
  logger: Logger,
): Promise<readonly string[]> {
  return withoutAgents(backend, logger, async (engine) => {
    const call = { engine, caller: { owner: "" }, owners: () => true };
    if (backend.sharing !== undefined && request.cancel === true) {
      const problem = "is not possible in a database: cancel tasks through a server that uses it";
      throw invalidParams("cancel", problem);
    }
    const deleted = (await deleteTasks(request, call)).map(({ taskId }) => taskId);
    engine.audit.record("task.deleted", { taskIds: deleted });
    return deleted;
  });
}
