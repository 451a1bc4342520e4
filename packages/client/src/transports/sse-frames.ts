import { ClientError, RemoteError, SseDecoder, type SseEvent } from "@convoke/protocol";
import { type HttpAnswer, unreachable } from "@convoke/egress/http";
import { type Frame, type ReadBatch, readBatch } from "./transport.ts";

/** As much as a whole answer may have: an event without an end would fill the memory. */
const MAX_EVENT = 64 * 1024 * 1024;

/** Something came that was no event, such as a keep-alive: the stream lives. */
const ALIVE: ReadBatch<Frame> = { items: [{ kind: "alive" }] };

export interface ReadFramesOptions {
  /** What is read of one event; throws what the event says went wrong. */
  readonly read: (event: SseEvent) => Frame;
  /** The address of the interface, for errors. */
  readonly url: string;
  readonly signal: AbortSignal | undefined;
}

/** The frames of an answer that is an event stream, as they come. */
export async function* readFrames(
  { body }: HttpAnswer,
  { read, url, signal }: ReadFramesOptions,
): AsyncGenerator<readonly Frame[], void, undefined> {
  const frames = new SseFrames(read, url);
  try {
    for await (const piece of body) {
      const { items, failure } = frames.push(piece);
      if (items.length > 0) yield items;
      if (failure !== undefined) throw failure.error;
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof RemoteError || error instanceof ClientError) throw error;
    throw unreachable(`the connection to ${url} was lost`, error);
  }
}

/** Finds the frames of an event stream whose bytes come in any pieces. */
class SseFrames {
  readonly #read: (event: SseEvent) => Frame;
  readonly #decoder = new SseDecoder();
  readonly #text = new TextDecoder();
  readonly #url: string;
  /** How much has come since the last event that was whole. */
  #pending = 0;

  constructor(read: (event: SseEvent) => Frame, url: string) {
    this.#read = read;
    this.#url = url;
  }

  /** The frames that the piece completes. */
  push(piece: Uint8Array): ReadBatch<Frame> {
    const events = this.#decoder.push(this.#text.decode(piece, { stream: true }));
    this.#pending = events.length === 0 ? this.#pending + piece.length : 0;
    if (this.#pending > MAX_EVENT) throw this.#tooLong();
    return events.length === 0 ? ALIVE : readBatch(events, this.#read);
  }

  #tooLong(): ClientError {
    const most = `${MAX_EVENT / 1024 / 1024} MiB`;
    return new ClientError("unreadable", `${this.#url} sends an event of more than ${most}`);
  }
}
