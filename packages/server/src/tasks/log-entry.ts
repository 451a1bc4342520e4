import { type AgentEvent, CODECS, type ProtocolVersion, isPublic } from "@convoke/protocol";
import type { ChunkFrames } from "./chunk-frames.ts";
import type { Seq, Stored } from "./backend.ts";

/**
 * An event with its bytes. The text of each wire version is made once and
 * shared by all readers.
 */
export class LogEntry {
  /** Its place in the log; 0 until it is committed. */
  seq: Seq = 0;
  readonly event: AgentEvent;
  readonly json: string;
  #frames: ChunkFrames | undefined;
  #text03: string | undefined;
  #text10: string | undefined;

  constructor(event: AgentEvent, json: string, frames?: ChunkFrames) {
    this.event = event;
    this.json = json;
    this.#frames = frames;
  }

  /** What a client of that version sees, or nothing when the event is internal. */
  text(version: ProtocolVersion): string | undefined {
    if (!isPublic(this.event)) return undefined;
    return version === "0.3"
      ? (this.#text03 ??=
          this.#frames === undefined
            ? CODECS["0.3"].eventText(this.event, this.json)
            : // A plain chunk is the same in 0.3 and in the model.
              this.json)
      : (this.#text10 ??=
          this.#frames?.v1(this.json) ?? CODECS["1.0"].eventText(this.event, this.json));
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
