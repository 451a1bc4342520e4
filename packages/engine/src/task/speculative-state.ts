import {
  type AgentEvent,
  type Task,
  type TaskState,
  isTerminal,
  mayFollow,
} from "@convoke/protocol";

/** An agent moved its task backwards, or wrote after its end. */
export class StateError extends Error {
  override readonly name = "StateError";
}

/** Where a task stands once everything appended so far is committed. */
export interface Standing {
  readonly state: TaskState;
  /** When that state was entered, in milliseconds. */
  readonly statusAt: number;
}

/** The state machine: where a task stands after some events, or why it may not go there (G5). */
export function standingAfter(standing: Standing, events: readonly AgentEvent[]): Standing {
  return events.reduce(advance, standing);
}

function advance(standing: Standing, event: AgentEvent): Standing {
  const { state } = standing;
  if (isTerminal(state)) throw new StateError(`the task is already ${state}`);
  if (event.kind === "message") return { ...standing, state: "completed" };
  if (event.kind !== "task" && event.kind !== "status-update") return standing;
  const { status } = event as Task;
  if (!mayFollow(state, status.state)) {
    throw new StateError(`the task cannot go from ${state} to ${status.state}`);
  }
  return {
    state: status.state,
    statusAt: status.timestamp === undefined ? standing.statusAt : Date.parse(status.timestamp),
  };
}
