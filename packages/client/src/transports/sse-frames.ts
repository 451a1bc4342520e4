import { ClientError, RemoteError, SseDecoder, type SseEvent } from "@convoke/protocol";
import { type HttpAnswer, unreachable } from "@convoke/egress/http";
import { type Frame, type ReadBatch, readBatch } from "./transport.ts";

export interface ReadFramesOptions {
  /** Parses one event; throws the error that the event carries. */
  readonly read: (event: SseEvent) => Frame;
  /** The URL of the interface, for errors. */
  readonly url: string;
  readonly signal: AbortSignal | undefined;
}

/** The frames of an event stream as they arrive. */
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

/** Bytes without a complete event, such as a keep-alive comment, show that the stream is alive. */
const ALIVE: ReadBatch<Frame> = { items: [{ kind: "alive" }] };

/** The same limit as for a whole response: an event without an end would fill the memory. */
const MAX_EVENT = 64 * 1024 * 1024;

/** Splits the bytes of an event stream into frames. */
class SseFrames {
  readonly #read: (event: SseEvent) => Frame;
  readonly #decoder = new SseDecoder();
  readonly #text = new TextDecoder();
  readonly #url: string;
  /** Bytes since the last complete event. */
  #pending = 0;

  constructor(read: (event: SseEvent) => Frame, url: string) {
    this.#read = read;
    this.#url = url;
  }

  /** The frames that the chunk completes. */
  push(piece: Uint8Array): ReadBatch<Frame> {
    const events = this.#decoder.push(this.#text.decode(piece, { stream: true }));
    this.#pending = events.length === 0 ? this.#pending + piece.length : 0;
    if (this.#pending > MAX_EVENT) throw this.#tooLong();
    return events.length === 0 ? ALIVE : readBatch(events, this.#read);
  }

  #tooLong(): ClientError {
    const most = `${MAX_EVENT / 1024 / 1024} MiB`;
    return new ClientError("unreadable", `${this.#url} sent an event of more than ${most}`);
  }
}
