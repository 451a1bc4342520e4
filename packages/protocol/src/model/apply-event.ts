import { appendChunk } from "./artifact.ts";
import {
  type AgentEvent,
  type ArtifactUpdateEvent,
  type StatusUpdateEvent,
  isPublic,
} from "./events.ts";
import { isMessageReceived } from "./journal.ts";
import type { Message } from "./message.ts";
import { type Task, type TaskStatus, isTerminal } from "./task.ts";

/**
 * The task after one event. The server's stored task and the task a client
 * rebuilds from its stream both come from this function, so they cannot disagree.
 * The first event of a log is the task itself.
 */
export function applyEvent(task: Task | undefined, event: AgentEvent): Task {
  if (isPublic(event) && event.kind === "task") return event;
  if (task === undefined)
    throw new TypeError(`a log must begin with a task, not with ${event.kind}`);
  if (isMessageReceived(event)) return withMessage(withStatusMessage(task), event.message);
  if (!isPublic(event)) return task;
  switch (event.kind) {
    case "status-update":
      return withExtensionMetadata(withStatus(task, event.status), event);
    case "artifact-update":
      return withArtifact(task, event);
    case "message":
      // A single message is the whole answer.
      return withStatus(task, { ...task.status, state: "completed", message: event });
    default:
      return event satisfies never;
  }
}

function withStatus(task: Task, status: TaskStatus): Task {
  return { ...withStatusMessage(task), status };
}

/**
 * Copies metadata of extensions, which is keyed by URI, from a terminal status to the task, so that
 * later readers of the task see it. Other status metadata applies to the status only.
 */
function withExtensionMetadata(task: Task, { status, metadata }: StatusUpdateEvent): Task {
  if (metadata === undefined || !isTerminal(status.state)) return task;
  const reports = Object.entries(metadata).filter(([name]) => name.includes("://"));
  if (reports.length === 0) return task;
  return { ...task, metadata: { ...task.metadata, ...Object.fromEntries(reports) } };
}

/**
 * Moves the status message to the history when it is replaced or answered, so that a question
 * precedes its answer there.
 */
function withStatusMessage(task: Task): Task {
  const { message } = task.status;
  return message === undefined ? task : withMessage(task, message);
}

/** Adds a message once per messageId: it may arrive again when a stream is resumed from a snapshot. */
function withMessage(task: Task, message: Message): Task {
  const history = task.history ?? [];
  if (history.some((earlier) => earlier.messageId === message.messageId)) return task;
  return { ...task, history: [...history, message] };
}

function withArtifact(task: Task, event: ArtifactUpdateEvent): Task {
  const artifacts = task.artifacts ?? [];
  const place = artifacts.findIndex(({ artifactId }) => artifactId === event.artifact.artifactId);
  const earlier = artifacts[place];
  if (earlier === undefined) return { ...task, artifacts: [...artifacts, event.artifact] };
  const changed = event.append === true ? appendChunk(earlier, event.artifact) : event.artifact;
  return { ...task, artifacts: artifacts.with(place, changed) };
}
