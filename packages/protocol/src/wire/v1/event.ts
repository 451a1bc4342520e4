import { A2AError } from "../../model/errors.ts";
import {
  type ArtifactUpdateEvent,
  type PublicEvent,
  type StatusUpdateEvent,
  isFinal,
} from "../../model/events.ts";
import { withKind } from "../codec/values.ts";
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
  readonly statusUpdate?: Omit<StatusUpdateEvent, "kind" | "final">;
  readonly artifactUpdate?: Omit<ArtifactUpdateEvent, "kind">;
}

/** Decodes an event from a server, which may be in the format of 0.3. */
export function decodeEvent(value: unknown): PublicEvent {
  const { task, message, statusUpdate, artifactUpdate } = (value ?? {}) as StreamResponse;
  if (artifactUpdate !== undefined) {
    return withKind("artifact-update", {
      ...artifactUpdate,
      artifact: decodeArtifact(artifactUpdate.artifact),
    });
  }
  if (statusUpdate !== undefined) {
    const status = decodeStatus(statusUpdate.status);
    return withKind("status-update", {
      ...statusUpdate,
      status,
      final: isFinal(status.state),
    });
  }
  if (task !== undefined) return decodeTask(task);
  if (message !== undefined) return decodeMessage(message, "message");
  if ((value as { kind?: unknown } | null)?.kind !== undefined) return decodeEvent03(value);
  throw new A2AError("InvalidAgentResponse", "the event has no known member");
}
