import { A2AError } from "../../model/errors.ts";
import type { ArtifactUpdateEvent, PublicEvent, StatusUpdateEvent } from "../../model/events.ts";
import type { A2APart } from "../../model/part.ts";
import { withKind } from "../codec/values.ts";
import { findKind, fromLegacyArtifactUpdate } from "../legacy/messages.ts";
import { decodeSentMessage, encodeMessage, isSameIn03 } from "./message.ts";
import {
  decodeArtifact,
  decodeStatus,
  decodeTask,
  encodeArtifact,
  encodeStatus,
  encodeTask,
} from "./task.ts";

/** An event as JSON text. The model has the form of 0.3, so most events are sent as they are stored. */
export function eventText(event: PublicEvent, json: string): string {
  return partsOf(event).every(isSameIn03) ? json : JSON.stringify(encodeEvent(event));
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
    case "status-update":
      return { ...event, status: encodeStatus(event.status) };
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
