import { type AgentEvent, type Task, applyEvent } from "@convoke/protocol";

/** The task that a log produces, event by event. */
export function foldOf(log: readonly AgentEvent[]): Task {
  const task = log.reduce<Task | undefined>(applyEvent, undefined);
  if (task === undefined) throw new Error("an empty log");
  return task;
}
