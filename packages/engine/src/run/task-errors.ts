import { A2AError } from "@convoke/protocol";

/** The error for a task that does not exist, or belongs to another owner. */
export function taskNotFound(taskId: string): A2AError {
  return new A2AError("TaskNotFound", `there is no task ${taskId}`, { details: { taskId } });
}

/** Another process has changed the task since it was read. */
export class TaskMoved extends A2AError {
  constructor(taskId: string) {
    super("Unavailable", `task ${taskId} is being changed by others; send the same message again`);
  }
}
