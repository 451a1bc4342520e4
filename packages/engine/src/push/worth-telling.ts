import {
  type AgentEvent,
  type ArtifactUpdateEvent,
  type PublicEvent,
  type Task,
  isPublic,
} from "@convoke/protocol";

/** Whether a receiver is told of an event at all, which needs no look at the task. */
export function isWorthTelling(event: AgentEvent, chunks: boolean): boolean {
  if (!isPublic(event) || event.kind === "task") return false;
  return event.kind !== "artifact-update" || chunks || event.lastChunk === true;
}

/**
 * What a receiver is told of an event, or nothing: statuses, whole artifacts
 * once they are finished, and an answer without a task. Chunks are sent as they
 * come only when asked for; then a finished artifact is its last chunk.
 *
 * `task` is the task after the event.
 */
export function worthTelling(
  event: AgentEvent,
  task: Task,
  chunks: boolean,
): PublicEvent | undefined {
  if (!isPublic(event)) return undefined;
  switch (event.kind) {
    case "status-update":
      return event;
    case "message":
      // Nothing else tells the receiver what it answers.
      return { ...event, taskId: task.id };
    case "artifact-update":
      return chunks ? event : finished(event, task);
    case "task":
      // The caller has it already, as the answer to the request that made it.
      return undefined;
    default:
      return event satisfies never;
  }
}

function finished(event: ArtifactUpdateEvent, task: Task): PublicEvent | undefined {
  if (event.lastChunk !== true) return undefined;
  const { artifactId } = event.artifact;
  const whole = task.artifacts?.find((artifact) => artifact.artifactId === artifactId);
  return { ...event, artifact: whole ?? event.artifact, append: false };
}
