import {
  type A2AArtifact,
  TASK_STATES,
  type Task,
  type TaskState,
  type TaskStatus,
} from "../../model/task.ts";
import { A2AError } from "../../model/errors.ts";
import type { A2APart, Metadata } from "../../model/part.ts";
import { compileCheck } from "../../schema/compile-schema.ts";
import { jsonShape, readProtoFields } from "../codec/proto-fields.ts";
import { isKindFirst, withKind } from "../codec/values.ts";
import { findKind, fromLegacyArtifactUpdate, fromLegacyState } from "../legacy/messages.ts";
import {
  decodePart,
  decodeSentMessage,
  encodeMessage,
  encodePart,
  isOnlyText,
  isSameIn03,
} from "./message.ts";
import { TASK_ID, TASK_QUERY } from "./schemas.ts";
import type { ArtifactUpdateEvent, PublicEvent, StatusUpdateEvent } from "../../model/events.ts";

/** Encodes a task. */
export function encodeTask(task: Task): Task {
  return {
    ...task,
    status: encodeStatus(task.status),
    ...(task.history && { history: task.history.map(encodeMessage) }),
    ...(task.artifacts && { artifacts: task.artifacts.map(encodeArtifact) }),
  };
}

/** Decodes a task from a server. Lenient: missing fields stay missing. */
export function decodeTask(value: unknown): Task {
  const task = value as Task;
  if (typeof task?.id !== "string") {
    throw new A2AError("InvalidAgentResponse", "the task has no id");
  }
  return withKind("task", {
    ...task,
    status: decodeStatus(task.status),
    ...(task.history && {
      history: task.history.map((message) => decodeSentMessage(message, "history")),
    }),
    ...(task.artifacts && { artifacts: task.artifacts.map(decodeArtifact) }),
  });
}

function encodeStatus(status: TaskStatus): TaskStatus {
  return status.message === undefined
    ? status
    : { ...status, message: encodeMessage(status.message) };
}

function decodeStatus(status: TaskStatus): TaskStatus {
  return {
    ...status,
    state: decodeTaskState(status?.state) ?? "unknown",
    ...(status?.message && { message: decodeSentMessage(status.message, "status.message") }),
  };
}

function encodeArtifact(artifact: A2AArtifact): A2AArtifact {
  return { ...artifact, parts: artifact.parts.map(encodePart) };
}

function decodeArtifact(artifact: A2AArtifact): A2AArtifact {
  return { ...artifact, parts: artifact.parts.map((part) => decodePart(part, "artifact.parts")) };
}

const KNOWN: ReadonlySet<string> = new Set(TASK_STATES);

/** Decodes a state; one that this version does not know is `undefined`, not a guess. */
export function decodeTaskState(value: unknown): TaskState | undefined {
  if (typeof value !== "string") return undefined;
  return KNOWN.has(value) ? (value as TaskState) : fromLegacyState(value);
}

interface TaskQuery {
  readonly id: string;
  readonly historyLength?: number;
  readonly metadata?: Metadata;
  /** Only in requests about push configs, which check it. */
  readonly pushNotificationConfigId?: string;
}

const checkTaskQuery = compileCheck(TASK_QUERY);

const checkTaskId = compileCheck(TASK_ID);

const TASK_QUERY_SHAPE = jsonShape([
  "id",
  "taskId",
  "historyLength",
  "metadata",
  "pushNotificationConfigId",
]);

/** Decodes the parameters that name a task. Some clients send `taskId`, which counts only if `id` is absent. */
export function decodeTaskQuery(value: unknown): TaskQuery {
  const params = readProtoFields(value, TASK_QUERY_SHAPE, "params") as
    | { id?: unknown; taskId?: unknown }
    | undefined;
  if (params?.id !== undefined || params?.taskId === undefined) {
    checkTaskQuery(params, "params");
    return params as unknown as TaskQuery;
  }
  checkTaskId(params.taskId, "taskId");
  const named = { ...params, id: params.taskId };
  checkTaskQuery(named, "params");
  return named as unknown as TaskQuery;
}

/** An event as JSON text. The model has the form of 0.3, so most events are sent as they are stored. */
export function eventText(event: PublicEvent, json: string): string {
  const isSame = partsOf(event).every(isSameIn03) && !endsStreamIn03(event);
  return isSame ? json : JSON.stringify(encodeEvent(event));
}

/**
 * Whether 0.3 ends the stream at an event at which the model does not: its clients wait for `final`
 * also while the task waits for an authorization.
 */
function endsStreamIn03(event: PublicEvent): boolean {
  return event.kind === "status-update" && event.status.state === "auth-required" && !event.final;
}

/** Every part that the event carries. */
function partsOf(event: PublicEvent): readonly A2APart[] {
  switch (event.kind) {
    case "artifact-update":
      return event.artifact.parts;
    case "status-update":
      return event.status.message?.parts ?? [];
    case "message":
      return event.parts;
    case "task":
      return [
        ...(event.history ?? []).flatMap(({ parts }) => parts),
        ...(event.artifacts ?? []).flatMap(({ parts }) => parts),
        ...(event.status.message?.parts ?? []),
      ];
    default:
      return event satisfies never;
  }
}

export function encodeEvent(event: PublicEvent): PublicEvent {
  switch (event.kind) {
    case "artifact-update":
      return { ...event, artifact: encodeArtifact(event.artifact) };
    case "status-update": {
      const final = event.final || endsStreamIn03(event);
      return { ...event, status: encodeStatus(event.status), final };
    }
    case "message":
      return encodeMessage(event);
    case "task":
      return encodeTask(event);
    default:
      return event satisfies never;
  }
}

/** Decodes an event from a server. */
export function decodeEvent(value: unknown): PublicEvent {
  switch (findKind(value)) {
    case "artifact-update": {
      if (isPlainChunk(value)) return value;
      const event = fromLegacyArtifactUpdate(value) as ArtifactUpdateEvent;
      return withKind("artifact-update", { ...event, artifact: decodeArtifact(event.artifact) });
    }
    case "status-update": {
      const event = value as StatusUpdateEvent;
      return withKind("status-update", {
        ...event,
        status: decodeStatus(event.status),
        final: event.final === true,
      });
    }
    case "message":
      return decodeSentMessage(value, "message");
    case "task":
      return decodeTask(value);
    default:
      throw new A2AError("InvalidAgentResponse", "the event has no known kind");
  }
}

/**
 * Whether an artifact update needs neither conversion nor further checks, as nearly every chunk of an
 * answer. The model has the form of 0.3, so it is used as it was sent.
 */
function isPlainChunk(value: unknown): value is ArtifactUpdateEvent {
  const { artifact } = value as Partial<ArtifactUpdateEvent>;
  const parts: unknown = artifact?.parts;
  return isKindFirst(value as object) && Array.isArray(parts) && parts.every(isOnlyText);
}
