import {
  ClientError,
  type PublicEvent,
  RemoteError,
  SseDecoder,
  type SseEvent,
  type StreamItem,
} from "@convoke/protocol";
import { type HttpAnswer, unreachable } from "@convoke/egress/http";
import { ChunkReader } from "./chunk-reader.ts";

export interface ReadEventsOptions {
  /** Parses and decodes one event; throws the error that the event carries. */
  readonly read: (sent: SseEvent) => PublicEvent;
  /** The URL of the interface, for errors. */
  readonly url: string;
  readonly signal: AbortSignal | undefined;
}

/** The events of an event stream as they arrive. */
export async function* readEvents(
  { body }: HttpAnswer,
  { read, url, signal }: ReadEventsOptions,
): AsyncGenerator<readonly StreamItem[], void, undefined> {
  const events = new SseEvents(read, url);
  try {
    for await (const piece of body) {
      const { items, failure } = events.push(piece);
      if (items.length > 0) yield items;
      if (failure !== undefined) throw failure.error;
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof RemoteError || error instanceof ClientError) throw error;
    throw unreachable(`the connection to ${url} was lost`, error);
  }
}

/** The events of a chunk of bytes that could be read. */
interface ReadBatch {
  readonly items: readonly StreamItem[];
  /** Why the rest could not be read. */
  readonly failure?: { readonly error: unknown };
}

/** Bytes without a complete event, such as a keep-alive comment, show that the stream is alive. */
const ALIVE: ReadBatch = { items: [{ kind: "alive" }] };

/** The same limit as for a whole response: an event without an end would fill the memory. */
const MAX_EVENT = 64 * 1024 * 1024;

/** Splits the bytes of an event stream into events. */
class SseEvents {
  readonly #chunks: ChunkReader;
  readonly #decoder = new SseDecoder();
  readonly #text = new TextDecoder();
  readonly #url: string;
  /** Bytes since the last complete event. */
  #pending = 0;

  constructor(read: (sent: SseEvent) => PublicEvent, url: string) {
    this.#chunks = new ChunkReader(read);
    this.#url = url;
  }

  /** The events that the bytes complete, up to the first one that cannot be read. */
  push(piece: Uint8Array): ReadBatch {
    const sent = this.#decoder.push(this.#text.decode(piece, { stream: true }));
    this.#pending = sent.length === 0 ? this.#pending + piece.length : 0;
    if (this.#pending > MAX_EVENT) throw this.#tooLong();
    if (sent.length === 0) return ALIVE;
    const items: StreamItem[] = [];
    try {
      for (const one of sent) {
        items.push({ kind: "event", event: this.#chunks.read(one), id: one.id });
      }
      return { items };
    } catch (error) {
      return { items, failure: { error } };
    }
  }

  #tooLong(): ClientError {
    const most = `${MAX_EVENT / 1024 / 1024} MiB`;
    return new ClientError("unreadable", `${this.#url} sent an event of more than ${most}`);
  }
}
