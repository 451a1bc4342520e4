import type { LogEntry } from "@convoke/engine";
import {
  type Codec,
  SSE_KEEP_ALIVE,
  SSE_RECONNECT,
  sseFrame,
  sseNamedFrame,
} from "@convoke/protocol";
import type { Framing } from "./event-stream.ts";

/** The headers of a response with server-sent events. */
export const SSE_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache",
  connection: "keep-alive",
  // Disables the response buffering of nginx and similar proxies.
  "x-accel-buffering": "no",
} as const;

interface SseFramingOptions {
  readonly codec: Codec;
  /** The envelope of each event. */
  readonly prefix: string;
  readonly suffix: string;
  /** Converts the JSON of each event. Default: it is sent as it is. */
  readonly convert?: (event: string) => string;
  /** Encodes an error as JSON on one line. */
  readonly errorText: (thrown: unknown) => string;
}

/** What `sseFrame` puts after the suffix. */
const FRAME_END = "\n\n";

/** Encodes events as server-sent events, each with its sequence as `id`. */
export class SseFraming implements Framing {
  readonly keepAlive = SSE_KEEP_ALIVE;
  readonly #options: SseFramingOptions;

  constructor(options: SseFramingOptions) {
    this.#options = options;
  }

  page(entries: readonly LogEntry[]): string {
    const { codec, prefix, suffix, convert } = this.#options;
    let frames = "";
    for (const entry of entries) {
      const text = entry.text(codec);
      if (text === undefined) continue;
      frames += sseFrame(
        entry.cursor,
        prefix,
        convert === undefined ? text : convert(text),
        suffix,
      );
    }
    return frames;
  }

  pieces(entry: LogEntry): readonly string[] {
    const { codec, prefix, suffix } = this.#options;
    const text = entry.text(codec);
    if (text === undefined) return [];
    const around = sseFrame(entry.cursor, prefix, "", suffix);
    const middle = around.length - suffix.length - FRAME_END.length;
    return [around.slice(0, middle), text, around.slice(middle)];
  }

  error(thrown: unknown): string {
    return sseNamedFrame("error", this.#options.errorText(thrown));
  }

  reconnect(): string {
    return SSE_RECONNECT;
  }
}
