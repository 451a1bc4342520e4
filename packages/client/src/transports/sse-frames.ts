import { SseDecoder, type SseEvent } from "@convoke/protocol";
import { type ReadBatch, readBatch } from "./read-batch.ts";
import type { Frame } from "./transport.ts";

/** Something came that was no event, such as a keep-alive: the stream lives. */
const ALIVE: ReadBatch<Frame> = { items: [{ kind: "alive" }] };

/** Finds the frames of an event stream whose bytes come in any pieces. */
export class SseFrames {
  readonly #read: (event: SseEvent) => Frame;
  readonly #decoder = new SseDecoder();
  readonly #text = new TextDecoder();

  constructor(read: (event: SseEvent) => Frame) {
    this.#read = read;
  }

  /** The frames that the piece completes. */
  push(piece: Uint8Array): ReadBatch<Frame> {
    const events = this.#decoder.push(this.#text.decode(piece, { stream: true }));
    return events.length === 0 ? ALIVE : readBatch(events, this.#read);
  }
}
