import { A2AError, isTerminal } from "@convoke/protocol";
import type { RemoveQuery, TaskRecord } from "../log/backend.ts";
import type { Engine } from "../run/engine.ts";
import { cancelTask } from "./end-task.ts";

/** Cancels a task unless it has ended. Resolves when it has. */
export async function endBeforeRemoval(
  engine: Engine,
  { taskId, owner, state }: TaskRecord,
): Promise<void> {
  if (isTerminal(state)) return;
  try {
    await cancelTask(engine, taskId, { owner });
  } catch (error) {
    // It has ended meanwhile.
    if (!(error instanceof A2AError) || error.reason !== "TaskNotCancelable") throw error;
  }
}

/**
 * Removes ended tasks that somebody wants removed, at once: their logs, snapshots, files and push
 * configs, with notifications that were not delivered. Resolves to the ids of the removed ones.
 */
export async function removeTasks(engine: Engine, query: RemoveQuery): Promise<readonly string[]> {
  const { pushes, retention } = engine.backend;
  const configs = await Promise.all(query.taskIds.map((taskId) => pushes.ofTask(taskId)));
  const removed = new Set(await retention.remove(query));
  for (const { taskId, id } of configs.flat()) {
    if (removed.has(taskId)) engine.pushRules?.deleted(taskId, id);
  }
  for (const taskId of removed) engine.tasks.forget(taskId);
  await engine.files.deleteTasks([...removed]);
  return [...removed];
}
