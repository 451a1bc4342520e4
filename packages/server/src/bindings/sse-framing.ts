import {
  type Codec,
  SSE_KEEP_ALIVE,
  SSE_RECONNECT,
  sseFrame,
  sseNamedFrame,
} from "@convoke/protocol";
import type { LogEntry } from "@convoke/engine";
import type { Framing } from "./event-stream.ts";

export interface SseFramingOptions {
  readonly codec: Codec;
  /** The envelope of each event. */
  readonly prefix: string;
  readonly suffix: string;
  /** Encodes an error as JSON on one line. */
  readonly errorText: (thrown: unknown) => string;
}

/** Encodes events as server-sent events, each with its sequence as `id`. */
export class SseFraming implements Framing {
  readonly keepAlive = SSE_KEEP_ALIVE;
  readonly #options: SseFramingOptions;

  constructor(options: SseFramingOptions) {
    this.#options = options;
  }

  page(entries: readonly LogEntry[]): string {
    const { codec, prefix, suffix } = this.#options;
    let frames = "";
    for (const entry of entries) {
      const text = entry.text(codec);
      if (text !== undefined) frames += sseFrame(entry.seq, prefix, text, suffix);
    }
    return frames;
  }

  error(thrown: unknown): string {
    return sseNamedFrame("error", this.#options.errorText(thrown));
  }

  reconnect(): string {
    return SSE_RECONNECT;
  }
}

/** The headers of a response with server-sent events. */
export const SSE_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache",
  connection: "keep-alive",
  // Disables the response buffering of nginx and similar proxies.
  "x-accel-buffering": "no",
} as const;
