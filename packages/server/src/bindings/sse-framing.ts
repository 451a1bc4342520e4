import {
  type Codec,
  SSE_KEEP_ALIVE,
  SSE_RECONNECT,
  sseFrame,
  sseNamedFrame,
} from "@convoke/protocol";
import type { LogEntry } from "@convoke/engine";
import type { Framing } from "./framing.ts";

export interface SseFramingOptions {
  readonly codec: Codec;
  /** What a binding puts around each event. */
  readonly prefix: string;
  readonly suffix: string;
  /** An error as the binding tells it, as JSON text on one line. */
  readonly errorText: (thrown: unknown) => string;
}

/** Events as server-sent events, each with its sequence as `id`. */
export class SseFraming implements Framing {
  readonly alive = SSE_KEEP_ALIVE;
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

/** The headers of an answer in server-sent events. */
export const SSE_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache",
  connection: "keep-alive",
  // Reverse proxies hold small writes back unless told not to.
  "x-accel-buffering": "no",
} as const;
