import {
  A2AError,
  type CallOptions,
  type Calls,
  ClientError,
  type Codec,
  type Connection,
  type RawCard,
  type StreamItem,
  type StreamOptions,
  type Streams,
} from "@convoke/protocol";
import { readBatch } from "../transports/read-batch.ts";
import type { Frame, Transport } from "../transports/transport.ts";
import type { LegacyForms } from "./legacy-forms.ts";

/** Every operation with one answer, between the model and the codec of a wire version. */
const CALLS: { readonly [Name in keyof Calls]: CallWords<Name> } = {
  sendMessage: {
    encode: (codec, request) => codec.encodeSendMessage(request),
    decode: (codec, value) => codec.decodeSendResult(value),
  },
  getTask: {
    encode: (codec, request) => codec.encodeGetTask(request),
    decode: (codec, value) => codec.decodeTask(value),
  },
  listTasks: {
    encode: (codec, request) => codec.encodeListTasks(request),
    decode: (codec, value) => codec.decodeTaskPage(value),
  },
  cancelTask: {
    encode: (codec, request) => codec.encodeCancelTask(request),
    decode: (codec, value) => codec.decodeTask(value),
  },
  createPushConfig: {
    encode: (codec, request) => codec.encodeCreatePushConfig(request),
    // Early servers say only that it worked; then it is as it was asked for.
    decode: (codec, value, { taskId, target }) =>
      isBareSuccess(value)
        ? { ...target, taskId, id: target.id ?? taskId }
        : codec.decodePushConfig(value),
  },
  getPushConfig: {
    encode: (codec, request) => codec.encodeGetPushConfig(request),
    decode: (codec, value) => codec.decodePushConfig(value),
  },
  listPushConfigs: {
    encode: (codec, request) => codec.encodeListPushConfigs(request),
    decode: (codec, value) => codec.decodePushConfigPage(value),
  },
  deletePushConfig: {
    encode: (codec, request) => codec.encodeDeletePushConfig(request),
    decode: () => undefined,
  },
  getExtendedCard: {
    // 0.3 and 1.0 both take nothing.
    encode: () => ({}),
    decode: (_codec, value) => {
      if (typeof value === "object" && value !== null && !Array.isArray(value)) {
        return value as RawCard;
      }
      throw new TypeError("the extended card is not an object");
    },
  },
};

/** Every operation with a stream of answers; all answer with events. */
const STREAMS: {
  readonly [Name in keyof Streams]: (codec: Codec, request: Streams[Name]) => unknown;
} = {
  sendStreamingMessage: (codec, request) => codec.encodeSendMessage(request),
  subscribeToTask: (codec, request) => codec.encodeSubscribe(request),
};

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

interface CallWords<Name extends keyof Calls> {
  readonly encode: (codec: Codec, request: Calls[Name]["request"]) => unknown;
  readonly decode: (
    codec: Codec,
    value: unknown,
    request: Calls[Name]["request"],
  ) => Calls[Name]["result"];
}

function isBareSuccess(value: unknown): boolean {
  return (value as { readonly success?: unknown } | null | undefined)?.success === true;
}
