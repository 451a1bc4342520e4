import type { AgentEvent, ArtifactUpdateEvent } from "@convoke/protocol";
import { ChunkFrames, type PlainChunk } from "./chunk-frames.ts";
import { LogEntry } from "./log-entry.ts";

/**
 * Turns the events of one task into entries. Most events of a stream are chunks
 * that differ in their text alone, so the rest of their JSON is written once:
 * five times cheaper than serialising each event, and the bytes are the same.
 */
export class EventWriter {
  #frames: ChunkFrames | undefined;

  /** The event as it will stand in the log; its sequence is known once it is committed. */
  entry(event: AgentEvent): LogEntry {
    if (!isPlainChunk(event)) return new LogEntry(event, JSON.stringify(event));
    const frames = this.#frames?.fits(event)
      ? this.#frames
      : (this.#frames = new ChunkFrames(event));
    return new LogEntry(event, frames.model(event.artifact.parts[0].text), frames);
  }
}

function isPlainChunk(event: AgentEvent): event is PlainChunk {
  if (event.kind !== "artifact-update") return false;
  const { artifact, append } = event as ArtifactUpdateEvent;
  const part = artifact.parts[0];
  return (
    append !== undefined &&
    part?.kind === "text" &&
    artifact.parts.length === 1 &&
    // Whatever else an event carries is not in the frames.
    fieldsOf(event) === 5 &&
    fieldsOf(artifact) === 2 &&
    fieldsOf(part) === 2
  );
}

/** Counts without making a list, for every chunk of every stream. */
function fieldsOf(object: object): number {
  let count = 0;
  for (const _ in object) count += 1;
  return count;
}
