import type { TaskState } from "@convoke/protocol";

/** What became of a call. It tells in `error` what went wrong, and throws nothing for it. */
export interface RemoteInvocationResult {
  readonly success: boolean;
  /** Empty when there is no task: it was never made, or the agent answered without one. */
  readonly taskId: string;
  readonly responseText: string | null;
  readonly error: string | null;
  /** How the task stands in the words of A2A, where that is neither completed nor failed. */
  readonly a2aState?: TaskState;
}

/** How a task stands, and what the agent has said last. */
export interface Standing {
  readonly taskId: string;
  readonly state: TaskState;
  readonly text: string;
}

/** The result of a task, or nothing as long as it may go on by itself. */
export function resultOf({ taskId, state, text }: Standing): RemoteInvocationResult | undefined {
  const responseText = text === "" ? null : text;
  switch (state) {
    case "completed":
      return { success: true, taskId, responseText, error: null };
    case "failed":
      return { success: false, taskId, responseText, error: responseText ?? "Task failed" };
    case "canceled":
    case "rejected": {
      const error = responseText ?? `Task ${state}`;
      return { success: false, taskId, responseText, error, a2aState: state };
    }
    case "input-required": {
      // Nobody is here to answer, so more waiting would only use up the time.
      const error = `Task needs input${text === "" ? "" : `: ${text}`}`;
      return { success: false, taskId, responseText, error, a2aState: state };
    }
    case "submitted":
    case "working":
    // What it needs comes to the agent by another way than this.
    case "auth-required":
    case "unknown":
      return undefined;
  }
}

export function failure(taskId: string, error: string): RemoteInvocationResult {
  return { success: false, taskId, responseText: null, error };
}
