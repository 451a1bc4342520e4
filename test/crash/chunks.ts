import { type AgentEvent, type ArtifactUpdateEvent, textOfParts } from "@convoke/protocol";

/** The texts of all chunks, in order. The agents of these tests say nothing twice, and no two chunks are alike. */
export function chunksOf(events: readonly AgentEvent[]): readonly string[] {
  return events
    .filter(({ kind }) => kind === "artifact-update")
    .map((event) => textOfParts((event as ArtifactUpdateEvent).artifact.parts))
    .filter((text) => text !== "");
}
