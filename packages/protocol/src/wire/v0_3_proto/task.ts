import { isObject } from "../../internal/json.ts";
import type { A2AArtifact, Task, TaskState, TaskStatus } from "../../model/task.ts";
import { A2AError } from "../../model/errors.ts";
import type { TaskPage } from "../../model/requests.ts";
import { protoShape, readProtoFields } from "../codec/proto-fields.ts";
import { withKind } from "../codec/values.ts";
import {
  decodeEvent as decodeEvent03,
  decodeTaskState as decodeTaskState03,
} from "../v0_3/task.ts";
import { decodePart, decodeSentMessage, encodeMessage, encodePart } from "./message.ts";
import type { ArtifactUpdateEvent, PublicEvent, StatusUpdateEvent } from "../../model/events.ts";
import type { Message } from "../../model/message.ts";
import { findKind } from "../legacy/messages.ts";

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

const TASK = protoShape(["id", "contextId", "status", "artifacts", "history", "metadata"]);

/** Decodes a task from a server. Lenient: missing fields stay missing. */
export function decodeTask(value: unknown): Task {
  const task = readProtoFields(value, TASK, "task") as Task | undefined;
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

/** The message is called `update` in the proto and `message` in its JSON. */
function encodeStatus(status: TaskStatus): object {
  return {
    ...status,
    state: encodeTaskState(status.state),
    ...(status.message && { message: encodeMessage(status.message) }),
  };
}

const STATUS = protoShape(["state", "message", "timestamp"], { aliases: { update: "message" } });

function decodeStatus(value: unknown): TaskStatus {
  const status = readProtoFields(value, STATUS, "status") as Partial<TaskStatus> | undefined;
  return {
    ...status,
    state: decodeTaskState(status?.state) ?? "unknown",
    ...(status?.message && { message: decodeSentMessage(status.message, "status.message") }),
  };
}

function encodeArtifact(artifact: A2AArtifact): object {
  return { ...artifact, parts: artifact.parts.map(encodePart) };
}

const ARTIFACT = protoShape([
  "artifactId",
  "name",
  "description",
  "parts",
  "metadata",
  "extensions",
]);

/** ProtoJSON omits empty fields. */
function decodeArtifact(value: unknown): A2AArtifact {
  const artifact = readProtoFields(value, ARTIFACT, "artifact") as Partial<A2AArtifact> | undefined;
  return {
    ...artifact,
    artifactId: artifact?.artifactId ?? "",
    parts: (artifact?.parts ?? []).map((part) => decodePart(part, "artifact.parts")),
  };
}

/** According to the table of 0.3 §3.5.6 the response is a bare list; newer servers respond with a page. */
export function decodeTaskPage(value: unknown): TaskPage {
  const page = (Array.isArray(value) ? { tasks: value } : value) as Partial<TaskPage> | null;
  if (!Array.isArray(page?.tasks ?? [])) {
    throw new A2AError("InvalidAgentResponse", "the tasks are not a list");
  }
  const tasks = (page?.tasks ?? []).map(decodeTask);
  return {
    tasks,
    nextPageToken: page?.nextPageToken ?? "",
    pageSize: page?.pageSize ?? tasks.length,
    totalSize: page?.totalSize ?? tasks.length,
  };
}

/** In the order of their proto numbers. A missing state is a compile error. */
const NAMES = {
  unknown: "TASK_STATE_UNSPECIFIED",
  submitted: "TASK_STATE_SUBMITTED",
  working: "TASK_STATE_WORKING",
  completed: "TASK_STATE_COMPLETED",
  failed: "TASK_STATE_FAILED",
  canceled: "TASK_STATE_CANCELLED",
  "input-required": "TASK_STATE_INPUT_REQUIRED",
  rejected: "TASK_STATE_REJECTED",
  "auth-required": "TASK_STATE_AUTH_REQUIRED",
} as const satisfies Record<TaskState, string>;

const STATES = new Map<unknown, TaskState>([
  ...Object.entries(NAMES).flatMap(([state, name], number) => [
    [name, state as TaskState] as const,
    [number, state as TaskState] as const,
  ]),
  // The name in 1.0.
  ["TASK_STATE_CANCELED", "canceled"],
]);

/**
 * Decodes a state by its name, its number or its name on JSON-RPC; one that this version does not
 * know is `undefined`, not a guess.
 */
export function decodeTaskState(value: unknown): TaskState | undefined {
  return STATES.get(value) ?? decodeTaskState03(value);
}

export function encodeTaskState(state: TaskState): string {
  return NAMES[state];
}

/** An event as JSON text: a StreamResponse with exactly one member. */
export function eventText(event: PublicEvent): string {
  return JSON.stringify(encodeEvent(event));
}

/** The message is called `msg` in the proto and `message` in its JSON. */
export function encodeEvent(event: PublicEvent): object {
  switch (event.kind) {
    case "artifact-update": {
      const { kind: _, ...rest } = event;
      return { artifactUpdate: { ...rest, artifact: encodeArtifact(event.artifact) } };
    }
    case "status-update": {
      const { kind: _, ...rest } = event;
      // As on JSON-RPC, the stream also ends while the task waits for an authorization.
      const final = event.final || event.status.state === "auth-required";
      return { statusUpdate: { ...rest, status: encodeStatus(event.status), final } };
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

const RESPONSE = protoShape(["task", "message", "statusUpdate", "artifactUpdate"], {
  aliases: { msg: "message" },
});

/** Reads an event that a server sent, also one that answers REST in the dialect of JSON-RPC. */
export function decodeEvent(value: unknown): PublicEvent {
  if (isObject(value) && value["kind"] !== undefined) return decodeEvent03(value);
  const response = (readProtoFields(value, RESPONSE, "event") ?? {}) as StreamResponse;
  const { task, message, statusUpdate, artifactUpdate } = response;
  if (artifactUpdate !== undefined) return decodeArtifactUpdate(artifactUpdate);
  if (statusUpdate !== undefined) return decodeStatusUpdate(statusUpdate);
  if (task !== undefined) return decodeTask(task);
  if (message !== undefined) return decodeSentMessage(message, "message");
  return decodeBare(value);
}

/** Some servers forget the member around the object; its fields tell what it is. */
function decodeBare(value: unknown): PublicEvent {
  switch (findKind(value)) {
    case "artifact-update":
      return decodeArtifactUpdate(value);
    case "status-update":
      return decodeStatusUpdate(value);
    case "message":
      return decodeSentMessage(value, "message");
    case "task":
      return decodeTask(value);
    default:
      throw new A2AError("InvalidAgentResponse", "the event has no known member");
  }
}

const ARTIFACT_UPDATE = protoShape([
  "taskId",
  "contextId",
  "artifact",
  "append",
  "lastChunk",
  "metadata",
]);

function decodeArtifactUpdate(value: unknown): ArtifactUpdateEvent {
  const update = readProtoFields(value, ARTIFACT_UPDATE, "artifactUpdate") as ArtifactUpdateEvent;
  return withKind("artifact-update", { ...update, artifact: decodeArtifact(update.artifact) });
}

const STATUS_UPDATE = protoShape(["taskId", "contextId", "status", "final", "metadata"]);

function decodeStatusUpdate(value: unknown): StatusUpdateEvent {
  const update = readProtoFields(value, STATUS_UPDATE, "statusUpdate") as StatusUpdateEvent;
  return withKind("status-update", {
    ...update,
    status: decodeStatus(update.status),
    final: update.final === true,
  });
}

/** Decodes a SendMessageResponse. */
export function decodeSendResult(value: unknown): Task | Message {
  const result = decodeEvent(value);
  if (result.kind === "task" || result.kind === "message") return result;
  throw new A2AError("InvalidAgentResponse", "the response is neither a task nor a message");
}
