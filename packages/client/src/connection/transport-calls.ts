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
import { type Frame, type Transport, readBatch } from "../transports/transport.ts";
import type { LegacyForms } from "./legacy-forms.ts";

/** How each call with a single response is encoded and decoded by the codec of a wire version. */
const CALLS: { readonly [Name in keyof Calls]: CallCodec<Name> } = {
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
    // Early servers only confirm; then the config is the requested one.
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
    // It has no parameters in either version.
    encode: () => ({}),
    decode: (_codec, value) => {
      if (typeof value === "object" && value !== null && !Array.isArray(value)) {
        return value as RawCard;
      }
      throw new TypeError("the extended card is not an object");
    },
  },
};

/** How the request of each streaming operation is encoded; all of them respond with events. */
const STREAMS: {
  readonly [Name in keyof Streams]: (codec: Codec, request: Streams[Name]) => unknown;
} = {
  sendStreamingMessage: (codec, request) => codec.encodeSendMessage(request),
  subscribeToTask: (codec, request) => codec.encodeSubscribe(request),
};

/** Calls of the model over one transport: encodes requests and decodes responses with its codec. */
export class TransportCalls implements Pick<Connection, "call" | "stream"> {
  readonly #transport: Transport;
  readonly #legacy: LegacyForms;

  constructor(transport: Transport, legacy: LegacyForms) {
    this.#transport = transport;
    this.#legacy = legacy;
  }

  async call<Name extends keyof Calls>(
    operation: Name,
    request: Calls[Name]["request"],
    options?: CallOptions,
  ): Promise<Calls[Name]["result"]> {
    const { codec } = this.#transport;
    const { encode, decode } = CALLS[operation];
    const params = this.#encode(() => encode(codec, request));
    const result = await this.#transport.call(operation, params, options);
    this.#legacy.lookAt(operation, codec.dialect, result);
    try {
      return decode(codec, result, request);
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

  /** Rejects what the version of this interface cannot express; with fallback it may differ per call. */
  #encode(encode: () => unknown): unknown {
    try {
      return encode();
    } catch (error) {
      if (!A2AError.is(error) || error.reason !== "UnsupportedOperation") throw error;
      const { url, version } = this.#transport.speaking;
      const message = `${error.detail}; ${url} is called with A2A ${version}`;
      throw new ClientError("unsupported", message, { cause: error });
    }
  }

  /** A response that the codec rejects is the agent's mistake, whatever error the codec throws. */
  #unreadable(error: unknown): ClientError {
    const problem = error instanceof Error ? error.message : String(error);
    const message = `the response of ${this.#transport.speaking.url} cannot be understood: ${problem}`;
    return new ClientError("unreadable", message, { cause: error });
  }
}

interface CallCodec<Name extends keyof Calls> {
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
