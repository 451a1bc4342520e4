import { appendChunk } from "./append-chunk.ts";
import {
  type AgentEvent,
  type ArtifactUpdateEvent,
  type StatusUpdateEvent,
  isMessageReceived,
  isPublic,
} from "./events.ts";
import type { Message } from "./message.ts";
import { type Task, type TaskStatus, isTerminal } from "./task.ts";

/**
 * The task after one event. The server's stored task and the task a client
 * rebuilds from its stream both come from this function, so they cannot disagree.
 * The first event of a log is the task itself.
 */
export function applyEvent(task: Task | undefined, event: AgentEvent): Task {
  if (isPublic(event) && event.kind === "task") return event;
  if (task === undefined) throw new TypeError(`a log begins with a task, not with ${event.kind}`);
  if (isMessageReceived(event)) return withMessage(withLastWords(task), event.message);
  if (!isPublic(event)) return task;
  switch (event.kind) {
    case "status-update":
      return withReport(withStatus(task, event.status), event);
    case "artifact-update":
      return withArtifact(task, event);
    case "message":
      // One message was the whole answer.
      return withStatus(task, { ...task.status, state: "completed", message: event });
    default:
      return event satisfies never;
  }
}

function withStatus(task: Task, status: TaskStatus): Task {
  return { ...withLastWords(task), status };
}

/**
 * What extensions say about a task at its end, under their URIs, stays with it:
 * whoever reads the task later finds it there. Anything else in the metadata of
 * a status is about the status alone.
 */
function withReport(task: Task, { status, metadata }: StatusUpdateEvent): Task {
  if (metadata === undefined || !isTerminal(status.state)) return task;
  const reports = Object.entries(metadata).filter(([name]) => name.includes("://"));
  if (reports.length === 0) return task;
  return { ...task, metadata: { ...task.metadata, ...Object.fromEntries(reports) } };
}

/**
 * A status message that is superseded or answered is part of the conversation,
 * so it moves to the history: a question stands before its answer.
 */
function withLastWords(task: Task): Task {
  const { message } = task.status;
  return message === undefined ? task : withMessage(task, message);
}

/** Once per messageId: a message may be seen again when a stream is resumed from a snapshot. */
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
