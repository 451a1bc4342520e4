import { type AgentEvent, type Codec, isPublic } from "@convoke/protocol";
import type { ChunkFrames } from "./chunk-frames.ts";
import type { Seq, Stored } from "./backend.ts";

/**
 * An event with its bytes. The text of each wire dialect is made once and
 * shared by all readers.
 */
export class LogEntry {
  /** Its place in the log; 0 until it is committed. */
  seq: Seq = 0;
  readonly event: AgentEvent;
  readonly json: string;
  #frames: ChunkFrames | undefined;
  #text03: string | undefined;
  #text03Proto: string | undefined;
  #text10: string | undefined;

  constructor(event: AgentEvent, json: string, frames?: ChunkFrames) {
    this.event = event;
    this.json = json;
    this.#frames = frames;
  }

  /** What a client of that dialect sees, or nothing when the event is internal. */
  text(codec: Codec): string | undefined {
    const { event, json } = this;
    if (!isPublic(event)) return undefined;
    switch (codec.dialect) {
      case "0.3":
        // A plain chunk is the same in 0.3 and in the model.
        return (this.#text03 ??= this.#frames === undefined ? codec.eventText(event, json) : json);
      case "0.3-proto":
        return (this.#text03Proto ??= codec.eventText(event, json));
      case "1.0":
        return (this.#text10 ??= this.#frames?.v1(json) ?? codec.eventText(event, json));
      default:
        return codec.dialect satisfies never;
    }
  }
}

/** A stored event, read. */
export function readEntry({ seq, json }: Stored): LogEntry {
  return placed(new LogEntry(JSON.parse(json) as AgentEvent, json), seq);
}

/** The entry at its place. */
export function placed(entry: LogEntry, seq: Seq): LogEntry {
  entry.seq = seq;
  return entry;
}
