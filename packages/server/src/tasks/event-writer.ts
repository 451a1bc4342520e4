import {
  type AgentEvent,
  type ArtifactUpdateEvent,
  CODECS,
  type TextPart,
  textPart,
} from "@convoke/protocol";
import { LogEntry } from "./log-entry.ts";

/** The text of an event before and after the one thing that changes. */
type Frame = readonly [before: string, after: string];

/** What stands around the text of one artifact's chunks, in each form. */
interface ChunkFrames {
  readonly artifactId: string;
  readonly append: boolean;
  readonly model: Frame;
  readonly v1: Frame;
}

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
    const { artifact, append } = event;
    const frames =
      this.#frames?.artifactId === artifact.artifactId && this.#frames.append === append
        ? this.#frames
        : (this.#frames = framesOf(event));
    const text = JSON.stringify(artifact.parts[0].text);
    return new LogEntry(
      event,
      frames.model[0] + text + frames.model[1],
      frames.v1[0] + text + frames.v1[1],
    );
  }
}

/** A chunk with nothing but its text, in the shape that `framesOf` assumes. */
interface PlainChunk extends ArtifactUpdateEvent {
  readonly append: boolean;
  readonly artifact: { readonly artifactId: string; readonly parts: readonly [TextPart] };
}

function isPlainChunk(event: AgentEvent): event is PlainChunk {
  if (event.kind !== "artifact-update") return false;
  const { artifact, append } = event as ArtifactUpdateEvent;
  const [part] = artifact.parts;
  return (
    append !== undefined &&
    part?.kind === "text" &&
    artifact.parts.length === 1 &&
    // Whatever else an event carries is not in the frame.
    Object.keys(event).length === 5 &&
    Object.keys(artifact).length === 2 &&
    Object.keys(part).length === 2
  );
}

function framesOf(event: PlainChunk): ChunkFrames {
  const { artifact, append } = event;
  const empty = { ...event, artifact: { ...artifact, parts: [textPart("")] } };
  const json = JSON.stringify(empty);
  return {
    artifactId: artifact.artifactId,
    append,
    model: split(json),
    v1: split(CODECS["1.0"].eventText(empty, json)),
  };
}

/** Cuts at the empty text. Inside other strings the quotes would be escaped, so there is one such place. */
function split(json: string): Frame {
  const mark = '"text":""';
  const place = json.indexOf(mark) + mark.length - 2;
  return [json.slice(0, place), json.slice(place + 2)];
}
