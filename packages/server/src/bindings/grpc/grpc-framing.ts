import { A2AError, type Codec } from "@convoke/protocol";
import type { GrpcMethod } from "@convoke/protocol/grpc";
import type { App } from "../../app.ts";
import type { HttpHeaders } from "../../http/exchange.ts";
import type { LogEntry } from "@convoke/engine";
import type { Framing } from "../framing.ts";
import { OK_TRAILERS, errorTrailers } from "./errors.ts";
import { frameMessage } from "./message-frames.ts";

const NOTHING = new Uint8Array();

/** Where each event says its place in the log; a reader sends it back as metadata of that name to go on. */
export const CURSOR = "last-event-id";

interface Event {
  metadata?: Record<string, unknown>;
}

export interface GrpcFramingOptions {
  readonly method: GrpcMethod;
  readonly codec: Codec;
  readonly app: App;
}

/** Events as messages of a gRPC stream, whose last word are its trailers. */
export class GrpcFraming implements Framing {
  /** HTTP/2 has pings of its own. */
  readonly alive = NOTHING;
  readonly #options: GrpcFramingOptions;
  #trailers: HttpHeaders = OK_TRAILERS;

  constructor(options: GrpcFramingOptions) {
    this.#options = options;
  }

  /** How the stream ended. */
  readonly trailers = (): HttpHeaders => this.#trailers;

  page(entries: readonly LogEntry[]): Uint8Array {
    return Buffer.concat(entries.map((entry) => this.#frame(entry)));
  }

  error(thrown: unknown): Uint8Array {
    return this.#failed(this.#options.app.explain(thrown));
  }

  reconnect(): Uint8Array {
    return this.#failed(new A2AError("Unavailable", "the server is stopping: subscribe again"));
  }

  /** An error is told at the very end. */
  #failed(error: A2AError): Uint8Array {
    const { app, codec } = this.#options;
    this.#trailers = errorTrailers(error, codec.version, app.specPatch);
    return NOTHING;
  }

  #frame(entry: LogEntry): Uint8Array {
    const { method, codec } = this.#options;
    const text = entry.text(codec);
    if (text === undefined) return NOTHING;
    const response = JSON.parse(text) as Record<string, Event>;
    for (const event of Object.values(response)) {
      event.metadata = { ...event.metadata, [CURSOR]: String(entry.seq) };
    }
    return frameMessage(method.encodeResponse(response));
  }
}
