import type { LogEntry } from "@convoke/engine";

/** What is written to a reader: text of an HTTP stream, or bytes of gRPC. */
export type Frames = string | Uint8Array;

/** How one reader's binding writes events. */
export interface Framing {
  /** Events, in the words of the reader; nothing where they are internal. */
  page(entries: readonly LogEntry[]): Frames;
  /** What to tell the reader before the stream ends because the log cannot be read. */
  error(thrown: unknown): Frames;
  /** Shows that the stream is alive. Empty where the transport has its own way. */
  readonly alive: Frames;
  /** Tells the reader that the server stops and its task does not. */
  reconnect(): Frames;
}
