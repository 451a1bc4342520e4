import {
  A2AError,
  type CallOptions,
  type Calls,
  ClientError,
  type Connection,
  type RawCard,
  type StreamItem,
  type StreamOptions,
  type Streams,
} from "@convoke/protocol";
import { readBatch } from "../transports/read-batch.ts";
import type { Frame, Transport } from "../transports/transport.ts";
import type { LegacyForms } from "./legacy-forms.ts";
import { CALLS, STREAMS } from "./operations.ts";

/** A connection by one transport. */
export class SingleConnection implements Connection {
  readonly card: RawCard;
  readonly #transport: Transport;
  readonly #legacy: LegacyForms;

  constructor(card: RawCard, transport: Transport, legacy: LegacyForms) {
    this.card = card;
    this.#transport = transport;
    this.#legacy = legacy;
  }

  get speaking(): Transport["speaking"] {
    return this.#transport.speaking;
  }

  async call<Name extends keyof Calls>(
    operation: Name,
    request: Calls[Name]["request"],
    options?: CallOptions,
  ): Promise<Calls[Name]["result"]> {
    const { codec } = this.#transport;
    const words = CALLS[operation];
    const params = this.#said(() => words.encode(codec, request));
    const result = await this.#transport.call(operation, params, options);
    this.#legacy.lookAt(operation, codec.dialect, result);
    try {
      return words.decode(codec, result, request);
    } catch (error) {
      throw this.#unreadable(error);
    }
  }

  async *stream<Name extends keyof Streams>(
    operation: Name,
    request: Streams[Name],
    options?: StreamOptions,
  ): AsyncGenerator<readonly StreamItem[], void, undefined> {
    const { codec } = this.#transport;
    const params = STREAMS[operation](codec, request);
    const read = (frame: Frame): StreamItem => {
      if (frame.kind === "alive") return frame;
      return { kind: "event", event: codec.decodeEvent(frame.result), id: frame.id };
    };
    for await (const frames of this.#transport.stream(operation, params, options)) {
      for (const frame of frames) {
        if (frame.kind === "result") this.#legacy.lookAt(operation, codec.dialect, frame.result);
      }
      const { items, failure } = readBatch(frames, read);
      if (items.length > 0) yield items;
      if (failure !== undefined) throw this.#unreadable(failure.error);
    }
  }

  /** It keeps nothing: the way out is shared by all interfaces of an agent. */
  close(): void {}

  /** What the version has no words for is known here alone: the interface may change with each call. */
  #said(encode: () => unknown): unknown {
    try {
      return encode();
    } catch (error) {
      if (!A2AError.is(error) || error.reason !== "UnsupportedOperation") throw error;
      const { url, version } = this.speaking;
      const message = `${error.detail}; ${url} is spoken to in ${version}`;
      throw new ClientError("unsupported", message, { cause: error });
    }
  }

  /** What the codec cannot read is the agent's mistake, whatever the codec calls it. */
  #unreadable(error: unknown): ClientError {
    const problem = error instanceof Error ? error.message : String(error);
    const message = `the answer of ${this.speaking.url} cannot be understood: ${problem}`;
    return new ClientError("unreadable", message, { cause: error });
  }
}
