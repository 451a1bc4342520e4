import {
  type A2AArtifact,
  type Task,
  type TaskState,
  type TaskStatus,
  appendChunk,
  isTerminal,
} from "./task.ts";
import { type InternalEvent, isMessageReceived } from "./journal.ts";
import type { Message } from "./message.ts";
import type { Metadata } from "./part.ts";
import { isObject } from "../internal/json.ts";

/** The whole task, as it was when the event was written. A log begins with one. */
export type TaskEvent = Task;

/** The status of the task changed, or the agent reported progress. */
export interface StatusUpdateEvent {
  readonly kind: "status-update";
  readonly taskId: string;
  readonly contextId: string;
  readonly status: TaskStatus;
  /** Whether this interaction ends here; see `isFinal`. */
  readonly final: boolean;
  readonly metadata?: Metadata;
}

/** A new artifact, or another chunk of one. */
export interface ArtifactUpdateEvent {
  readonly kind: "artifact-update";
  readonly taskId: string;
  readonly contextId: string;
  readonly artifact: A2AArtifact;
  /** True appends the parts to the artifact; otherwise they replace it. */
  readonly append?: boolean;
  readonly lastChunk?: boolean;
  readonly metadata?: Metadata;
}

/** The events that clients see. */
export type PublicEvent = TaskEvent | StatusUpdateEvent | ArtifactUpdateEvent | Message;

/** Everything that can happen to a task, and therefore everything its log may hold. */
export type AgentEvent = PublicEvent | InternalEvent;

/** Whether clients may see the event. */
export function isPublic(event: AgentEvent): event is PublicEvent {
  return !event.kind.startsWith("internal:");
}

/**
 * `final` depends on the state alone. A task that waits for input ends the interaction, because the
 * answer is a new request; one that waits for authorization may continue by itself (1.0 §7.6.1).
 */
export function isFinal(state: TaskState): boolean {
  return isTerminal(state) || state === "input-required";
}

/**
 * The task after one event. The server's stored task and the task a client
 * rebuilds from its stream both come from this function, so they cannot disagree.
 * The first event of a log is the task itself.
 */
export function applyEvent(task: Task | undefined, event: AgentEvent): Task {
  if (isPublic(event) && event.kind === "task") return event;
  if (task === undefined)
    throw new TypeError(`a log must begin with a task, not with ${event.kind}`);
  if (isMessageReceived(event)) {
    // A client may use the id of an earlier message again for another one.
    const asked = withStatusMessage(task);
    return { ...asked, history: [...(asked.history ?? []), event.message] };
  }
  if (!isPublic(event)) return task;
  switch (event.kind) {
    case "status-update":
      return withStatusMetadata(withStatus(task, event.status), event);
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

/** The metadata of a status under this name is metadata of its task. */
export const TASK_METADATA = "https://convoke.dev/extensions/task-metadata/v1";

/**
 * Copies metadata of extensions, which is keyed by URI, from a terminal status to the task, so that
 * later readers of the task see it, and `TASK_METADATA` from any. Other status metadata applies to the
 * status only.
 */
function withStatusMetadata(task: Task, { status, metadata }: StatusUpdateEvent): Task {
  if (metadata === undefined) return task;
  const { [TASK_METADATA]: own, ...others } = metadata;
  const reports = isTerminal(status.state)
    ? Object.entries(others).filter(([name]) => name.includes("://"))
    : [];
  if (reports.length === 0 && !isObject(own)) return task;
  const added = { ...Object.fromEntries(reports), ...(isObject(own) && own) };
  return { ...task, metadata: { ...task.metadata, ...added } };
}

/**
 * Moves the status message to the history when it is replaced or answered, so that a question
 * precedes its answer there.
 */
function withStatusMessage(task: Task): Task {
  const { message } = task.status;
  return message === undefined ? task : withAgentMessage(task, message);
}

/** Adds a message once per messageId: some agents add it to the history themselves. */
function withAgentMessage(task: Task, message: Message): Task {
  const history = task.history ?? [];
  const { role, messageId } = message;
  const isThere = history.some((one) => one.messageId === messageId && one.role === role);
  return isThere ? task : { ...task, history: [...history, message] };
}

function withArtifact(task: Task, event: ArtifactUpdateEvent): Task {
  const artifacts = task.artifacts ?? [];
  const place = artifacts.findIndex(({ artifactId }) => artifactId === event.artifact.artifactId);
  const earlier = artifacts[place];
  if (earlier === undefined) return { ...task, artifacts: [...artifacts, event.artifact] };
  const changed = event.append === true ? appendChunk(earlier, event.artifact) : event.artifact;
  return { ...task, artifacts: artifacts.with(place, changed) };
}
