import { A2AError } from "../../model/errors.ts";
import type { ArtifactUpdateEvent, PublicEvent, StatusUpdateEvent } from "../../model/events.ts";
import type { Message } from "../../model/message.ts";
import type { Task } from "../../model/task.ts";
import { protoShape, readProtoFields } from "../codec/proto-fields.ts";
import { withKind } from "../codec/values.ts";
import { findKind } from "../legacy/messages.ts";
import { decodeEvent as decodeEvent03 } from "../v0_3/event.ts";
import { decodeMessage, encodeMessage } from "./message.ts";
import {
  decodeArtifact,
  decodeStatus,
  decodeTask,
  encodeArtifact,
  encodeStatus,
  encodeTask,
} from "./task.ts";

const RESPONSE = protoShape(["task", "message", "statusUpdate", "artifactUpdate"], {
  aliases: { msg: "message" },
});
const STATUS_UPDATE = protoShape(["taskId", "contextId", "status", "final", "metadata"]);
const ARTIFACT_UPDATE = protoShape([
  "taskId",
  "contextId",
  "artifact",
  "append",
  "lastChunk",
  "metadata",
]);

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
  readonly kind?: unknown;
  readonly task?: unknown;
  readonly message?: unknown;
  readonly statusUpdate?: unknown;
  readonly artifactUpdate?: unknown;
}

/** Reads an event that a server sent, also one that answers REST in the dialect of JSON-RPC. */
export function decodeEvent(value: unknown): PublicEvent {
  const response = (readProtoFields(value, RESPONSE) ?? {}) as StreamResponse;
  if (response.kind !== undefined) return decodeEvent03(value);
  const { task, message, statusUpdate, artifactUpdate } = response;
  if (artifactUpdate !== undefined) return decodeArtifactUpdate(artifactUpdate);
  if (statusUpdate !== undefined) return decodeStatusUpdate(statusUpdate);
  if (task !== undefined) return decodeTask(task);
  if (message !== undefined) return decodeMessage(message, "message");
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
      return decodeMessage(value, "message");
    case "task":
      return decodeTask(value);
    default:
      throw new A2AError("InvalidAgentResponse", "the event has no known member");
  }
}

function decodeArtifactUpdate(value: unknown): ArtifactUpdateEvent {
  const update = readProtoFields(value, ARTIFACT_UPDATE) as ArtifactUpdateEvent;
  return withKind("artifact-update", { ...update, artifact: decodeArtifact(update.artifact) });
}

function decodeStatusUpdate(value: unknown): StatusUpdateEvent {
  const update = readProtoFields(value, STATUS_UPDATE) as StatusUpdateEvent;
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
