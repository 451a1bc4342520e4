import { type Message, type Task, isInterrupted } from "@convoke/protocol";

/** Where a conversation stands, as JSON: keep it, and go on with it in another process. */
export interface ConversationState {
  readonly contextId?: string;
  /** The task that waits for an answer; the next word goes to it. */
  readonly taskId?: string;
  /** The task that came before; the next word refers to it. */
  readonly lastTaskId?: string;
}

/** Where the conversation stands after an answer, or after a part of one. */
export function stateAfter(
  before: ConversationState,
  answer: Task | Message | undefined,
): ConversationState {
  if (answer === undefined) return before;
  const contextId = answer.contextId ?? before.contextId;
  const lastTaskId = answer.kind === "task" ? answer.id : before.lastTaskId;
  const isWaiting = answer.kind === "task" && isInterrupted(answer.status.state);
  return {
    ...(contextId !== undefined && { contextId }),
    ...(isWaiting && { taskId: answer.id }),
    ...(lastTaskId !== undefined && { lastTaskId }),
  };
}

/** What the next message says about its place in the conversation (0.3 §7.1, 1.0 §3.4). */
export function placeIn({ contextId, taskId, lastTaskId }: ConversationState): {
  readonly contextId?: string;
  readonly taskId?: string;
  readonly referenceTaskIds?: readonly string[];
} {
  if (taskId !== undefined) return { ...(contextId !== undefined && { contextId }), taskId };
  return {
    ...(contextId !== undefined && { contextId }),
    ...(lastTaskId !== undefined && { referenceTaskIds: [lastTaskId] }),
  };
}

/** Refuses what was not made by `conversation.state`, before it is sent to anybody. */
export function readState(state: ConversationState): ConversationState {
  for (const field of ["contextId", "taskId", "lastTaskId"] as const) {
    const value: unknown = state[field];
    if (value === undefined || (typeof value === "string" && value !== "")) continue;
    throw new TypeError(
      `state.${field} must be the id of ${field === "contextId" ? "a context" : "a task"}; ` +
        "pass what conversation.state gave",
    );
  }
  return state;
}
