import { invalidParams } from "../../errors.ts";

const TASK_NAME = /^tasks\/([^/]+)$/;

/** The id of a config is the caller's choice, so it may hold anything; that of a task is ours. */
const CONFIG_NAME = /^tasks\/([^/]+)\/pushNotificationConfigs\/(.+)$/s;

const MAX_CONFIG_ID = 256;

export function taskName(taskId: string): string {
  return `tasks/${taskId}`;
}

export function configName(taskId: string, id: string): string {
  return `tasks/${taskId}/pushNotificationConfigs/${id}`;
}

/** The id in `tasks/{id}`. */
export function parseTaskName(name: string, field: string): string {
  const [, taskId] = TASK_NAME.exec(name) ?? [];
  if (taskId === undefined) throw invalidParams(field, "must be tasks/{id}");
  return taskId;
}

/** Both ids in `tasks/{id}/pushNotificationConfigs/{configId}`. */
export function parseConfigName(
  name: string,
  field: string,
): { readonly taskId: string; readonly id: string } {
  const [, taskId, id] = CONFIG_NAME.exec(name) ?? [];
  if (taskId === undefined || id === undefined) {
    throw invalidParams(field, "must be tasks/{id}/pushNotificationConfigs/{configId}");
  }
  if (id.length > MAX_CONFIG_ID) {
    throw invalidParams(field, `must not have a configId of more than ${MAX_CONFIG_ID} characters`);
  }
  return { taskId, id };
}
