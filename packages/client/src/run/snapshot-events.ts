import {
  type A2AArtifact,
  type A2APart,
  type ArtifactUpdateEvent,
  type PublicEvent,
  type Task,
  isFinal,
  joinAll,
  partsAfter,
} from "@convoke/protocol";

/**
 * The events that lead from one snapshot of a task to the next, for agents that are polled. A change
 * that no event can express is the whole task.
 */
export function eventsBetween(before: Task | undefined, after: Task): readonly PublicEvent[] {
  if (before === undefined || before.id !== after.id) return [after];
  const kept = new Set((after.artifacts ?? []).map(({ artifactId }) => artifactId));
  const hasLost = (before.artifacts ?? []).some(({ artifactId }) => !kept.has(artifactId));
  if (hasLost) return [after];
  const updates = (after.artifacts ?? []).flatMap((artifact) => updatesTo(artifact, before));
  return isSameStatus(before, after) ? updates : [...updates, toStatusUpdate(after)];
}

/** Whether two snapshots are the same to a reader. */
export function isSameTask(one: Task, other: Task): boolean {
  return eventsBetween(one, other).length === 0 && eventsBetween(other, one).length === 0;
}

/** The parts with adjacent plain text joined, as the reducer does for streams. */
function joinedParts(parts: readonly A2APart[]): readonly A2APart[] {
  return joinAll(
    [],
    parts.map((part) => [part]),
  );
}

function updatesTo(artifact: A2AArtifact, before: Task): readonly ArtifactUpdateEvent[] {
  const { id: taskId, contextId } = before;
  const update = { kind: "artifact-update", taskId, contextId } as const;
  const { artifactId } = artifact;
  const earlier = (before.artifacts ?? []).find((other) => other.artifactId === artifactId);
  if (earlier === undefined) return [{ ...update, artifact, append: false }];
  const rest = partsAfter(joinedParts(artifact.parts), joinedParts(earlier.parts), isSame);
  const hasNewDescription = !isSame({ ...earlier, parts: [] }, { ...artifact, parts: [] });
  if (rest === undefined || hasNewDescription) return [{ ...update, artifact, append: false }];
  if (rest.length === 0) return [];
  return [{ ...update, artifact: { ...artifact, parts: rest }, append: true }];
}

function toStatusUpdate({ id: taskId, contextId, status }: Task): PublicEvent {
  return { kind: "status-update", taskId, contextId, status, final: isFinal(status.state) };
}

function isSameStatus({ status: one }: Task, { status: other }: Task): boolean {
  return (
    one.state === other.state &&
    one.timestamp === other.timestamp &&
    isSame(one.message?.parts, other.message?.parts)
  );
}

/** Both come from the same agent, which writes its fields in a fixed order. */
function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
