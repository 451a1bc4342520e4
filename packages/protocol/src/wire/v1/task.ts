import type { A2AArtifact, Task, TaskState, TaskStatus } from "../../model/task.ts";
import { A2AError } from "../../model/errors.ts";
import type { TaskPage } from "../../model/requests.ts";
import { jsonShape, readProtoFields } from "../codec/proto-fields.ts";
import { withKind } from "../codec/values.ts";
import { decodeTaskState as decodeTaskState03 } from "../v0_3_proto/task.ts";
import { decodePart, decodeSentMessage, encodeMessage, encodePart } from "./message.ts";
import {
  type ArtifactUpdateEvent,
  type PublicEvent,
  type StatusUpdateEvent,
  isFinal,
} from "../../model/events.ts";
import { decodeEvent as decodeEvent03 } from "../v0_3/task.ts";

/** Encodes a task. */
export function encodeTask(task: Task): object {
  const { kind: _, ...rest } = task;
  return {
    ...rest,
    status: encodeStatus(task.status),
    ...(task.history && { history: task.history.map(encodeMessage) }),
    ...(task.artifacts && { artifacts: task.artifacts.map(encodeArtifact) }),
  };
}

const TASK_SHAPE = jsonShape(["id", "contextId", "status", "artifacts", "history", "metadata"]);

/** Decodes a task from a server. Lenient: missing fields stay missing. */
export function decodeTask(value: unknown): Task {
  const task = readProtoFields(value, TASK_SHAPE, "task") as Task;
  if (typeof task?.id !== "string") {
    throw new A2AError("InvalidAgentResponse", "the task has no id");
  }
  return withKind("task", {
    ...task,
    contextId: task.contextId ?? "",
    status: decodeStatus(task.status),
    ...(task.history && {
      history: task.history.map((message) => decodeSentMessage(message, "history")),
    }),
    ...(task.artifacts && { artifacts: task.artifacts.map(decodeArtifact) }),
  });
}

function encodeStatus(status: TaskStatus): object {
  return {
    ...status,
    state: encodeTaskState(status.state),
    ...(status.message && { message: encodeMessage(status.message) }),
  };
}

function decodeStatus(status: TaskStatus): TaskStatus {
  return {
    ...status,
    state: decodeSentState(status?.state),
    ...(status?.message && { message: decodeSentMessage(status.message, "status.message") }),
  };
}

function encodeArtifact(artifact: A2AArtifact): object {
  return { ...artifact, parts: artifact.parts.map(encodePart) };
}

const ARTIFACT_SHAPE = jsonShape([
  "artifactId",
  "name",
  "description",
  "parts",
  "metadata",
  "extensions",
]);

/**
 * ProtoJSON omits empty fields. Like `decodeArtifactUpdate`, it runs for each chunk of an answer and
 * therefore names the fields of its shape: copying an object with unknown fields takes much longer.
 */
function decodeArtifact(value: unknown): A2AArtifact {
  const read = readProtoFields(value, ARTIFACT_SHAPE, "artifact") as Partial<A2AArtifact>;
  const { artifactId, name, description, parts = [], metadata, extensions } = read;
  const artifact = {
    artifactId,
    parts: parts.map((part) => decodePart(part, "artifact.parts")),
  } as Mutable<A2AArtifact>;
  if (name !== undefined) artifact.name = name;
  if (description !== undefined) artifact.description = description;
  if (metadata !== undefined) artifact.metadata = metadata;
  if (extensions !== undefined) artifact.extensions = extensions;
  return artifact;
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

/** All four fields are always present; `artifacts` only on request, and then even if empty (1.0 §3.1.4). */
export function encodeTaskPage(page: TaskPage, includeArtifacts: boolean): object {
  const tasks = page.tasks.map((task) => {
    const { artifacts, ...rest } = task;
    return encodeTask(includeArtifacts ? { ...rest, artifacts: artifacts ?? [] } : rest);
  });
  return { ...page, tasks };
}

const PAGE_SHAPE = jsonShape(["tasks", "nextPageToken", "pageSize", "totalSize"]);

export function decodeTaskPage(value: unknown): TaskPage {
  const page = readProtoFields(value, PAGE_SHAPE, "page") as Partial<TaskPage>;
  return {
    tasks: (page.tasks ?? []).map(decodeTask),
    nextPageToken: page.nextPageToken ?? "",
    pageSize: page.pageSize ?? 0,
    totalSize: page.totalSize ?? 0,
  };
}

/** A missing state is a compile error. 1.0 has no `unknown`. */
const NAMES = {
  submitted: "TASK_STATE_SUBMITTED",
  working: "TASK_STATE_WORKING",
  completed: "TASK_STATE_COMPLETED",
  failed: "TASK_STATE_FAILED",
  canceled: "TASK_STATE_CANCELED",
  "input-required": "TASK_STATE_INPUT_REQUIRED",
  rejected: "TASK_STATE_REJECTED",
  "auth-required": "TASK_STATE_AUTH_REQUIRED",
  unknown: "TASK_STATE_UNSPECIFIED",
} as const satisfies Record<TaskState, string>;

const STATES = new Map<string, TaskState>(
  Object.entries(NAMES).map(([state, name]) => [name, state as TaskState]),
);

/** Decodes a state; one that this version does not know is `undefined`, not a guess. */
export function decodeTaskState(value: unknown): TaskState | undefined {
  return typeof value === "string" ? STATES.get(value) : undefined;
}

/** Decodes a state from a server, which may use the name or number of 0.3. An unknown one becomes `unknown`. */
function decodeSentState(value: unknown): TaskState {
  return decodeTaskState(value) ?? decodeTaskState03(value) ?? "unknown";
}

export function encodeTaskState(state: TaskState): string {
  return NAMES[state];
}

/** An event as JSON text: a StreamResponse with exactly one member (1.0 §3.2.3). */
export function eventText(event: PublicEvent): string {
  return JSON.stringify(encodeEvent(event));
}

export function encodeEvent(event: PublicEvent): object {
  switch (event.kind) {
    case "artifact-update": {
      const { kind: _, ...rest } = event;
      return { artifactUpdate: { ...rest, artifact: encodeArtifact(event.artifact) } };
    }
    case "status-update": {
      const { kind: _, final: __, ...rest } = event;
      return { statusUpdate: { ...rest, status: encodeStatus(event.status) } };
    }
    case "message":
      return { message: encodeMessage(event) };
    case "task":
      return { task: encodeTask(event) };
    default:
      return event satisfies never;
  }
}

interface StreamResponse {
  readonly task?: unknown;
  readonly message?: unknown;
  readonly statusUpdate?: unknown;
  readonly artifactUpdate?: unknown;
}

const EVENT_SHAPE = jsonShape(["task", "message", "statusUpdate", "artifactUpdate"]);
const ARTIFACT_UPDATE_SHAPE = jsonShape([
  "taskId",
  "contextId",
  "artifact",
  "append",
  "lastChunk",
  "metadata",
]);
const STATUS_UPDATE_SHAPE = jsonShape(["taskId", "contextId", "status", "metadata"]);

/** Decodes an event from a server, which may be in the format of 0.3. */
export function decodeEvent(value: unknown): PublicEvent {
  const named = readProtoFields(value ?? {}, EVENT_SHAPE, "event") as StreamResponse;
  const { task, message, statusUpdate, artifactUpdate } = named;
  if (artifactUpdate !== undefined) return decodeArtifactUpdate(artifactUpdate);
  if (statusUpdate !== undefined) {
    const update = readProtoFields(statusUpdate, STATUS_UPDATE_SHAPE, "statusUpdate");
    const { status: sent, ...rest } = update as StatusUpdateEvent;
    const status = decodeStatus(sent);
    return withKind("status-update", { ...rest, status, final: isFinal(status.state) });
  }
  if (task !== undefined) return decodeTask(task);
  if (message !== undefined) return decodeSentMessage(message, "message");
  if ((value as { kind?: unknown } | null)?.kind !== undefined) return decodeEvent03(value);
  throw new A2AError("InvalidAgentResponse", "the event has no known member");
}

function decodeArtifactUpdate(value: unknown): ArtifactUpdateEvent {
  const read = readProtoFields(value, ARTIFACT_UPDATE_SHAPE, "artifactUpdate");
  const { taskId, contextId, artifact, append, lastChunk, metadata } = read as ArtifactUpdateEvent;
  const event: Mutable<ArtifactUpdateEvent> = {
    kind: "artifact-update",
    taskId,
    contextId,
    artifact: decodeArtifact(artifact),
  };
  if (append !== undefined) event.append = append;
  if (lastChunk !== undefined) event.lastChunk = lastChunk;
  if (metadata !== undefined) event.metadata = metadata;
  return event;
}
