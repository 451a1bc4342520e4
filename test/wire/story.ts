import { type ArtifactUpdateEvent, type PublicEvent, textOfParts } from "@convoke/protocol";

/** A summary of a stream: `task submitted`, `status working`, `artifact …`, `message …`. */
export function outline(events: readonly PublicEvent[]): readonly string[] {
  return events.map((event) => {
    switch (event.kind) {
      case "task":
        return `task ${event.status.state}`;
      case "status-update":
        return `status ${event.status.state}`;
      case "artifact-update":
        return `artifact ${textOfParts(event.artifact.parts)}`;
      case "message":
        return `message ${textOfParts(event.parts)}`;
      default:
        return event satisfies never;
    }
  });
}

/** The chunks of a stream. */
export function chunksOf(events: readonly PublicEvent[]): readonly ArtifactUpdateEvent[] {
  return events.filter((event) => event.kind === "artifact-update");
}

/** The demo agent's answer to `slow N`. */
export function countTo(count: number): string {
  return Array.from({ length: count }, (_, index) => index + 1).join(" ");
}
