import type { HttpClient } from "@convoke/egress/http";
import {
  A2AError,
  type CallOptions,
  type Calls,
  ClientError,
  type Codec,
  type Connection,
  type PublicEvent,
  type RawCard,
  type StreamItem,
  type StreamOptions,
  type Streams,
  legacyFormInCard,
  legacyFormInResponse,
} from "@convoke/protocol";
import { AgentHttp } from "../auth/agent-http.ts";
import type { Credentials } from "../auth/credentials.ts";
import type { ChosenInterface } from "../cards/choose-interface.ts";
import type { CardNotice } from "../cards/find-card.ts";
import { openGrpcChannel } from "../transports/http2-channel.ts";
import { JsonRpcTransport } from "../transports/jsonrpc.ts";
import { RestTransport } from "../transports/rest.ts";
import type { AnswerHead, Transport } from "../transports/transport.ts";

export interface OpenInterfaceOptions {
  readonly client: HttpClient;
  readonly credentials?: Credentials | undefined;
  readonly extensions?: readonly string[] | undefined;
  /** Receives the headers of every response. */
  readonly onHead: (headers: AnswerHead) => void;
  /** Looks at every response. */
  readonly legacy: LegacyForms;
}

/** Opens one interface of an agent: the calls of the model in its version, over its binding. */
export async function openInterface(
  chosen: ChosenInterface,
  options: OpenInterfaceOptions,
): Promise<Pick<Connection, "call" | "stream">> {
  return new InterfaceCalls(await openTransport(chosen, options), options.legacy);
}

/** Opens the transport of an interface. gRPC is loaded on first use. */
async function openTransport(
  chosen: ChosenInterface,
  { client, credentials, extensions, onHead }: OpenInterfaceOptions,
): Promise<Transport> {
  const { version } = chosen;
  const http = new AgentHttp({ client, version, credentials, extensions, onHead });
  switch (chosen.binding) {
    case "JSONRPC":
      return new JsonRpcTransport(chosen, http);
    case "HTTP+JSON":
      return new RestTransport(chosen, http);
    case "GRPC": {
      const channel = openGrpcChannel(client);
      if (channel === undefined) {
        throw new ClientError("unsupported", `${chosen.url} uses gRPC, which needs HTTP/2`);
      }
      const { GrpcTransport } = await import("../transports/grpc.ts");
      return new GrpcTransport({ chosen, channel, credentials, extensions, onHead });
    }
    default:
      return chosen.binding satisfies never;
  }
}

/** Encodes requests and decodes responses with the codec of its transport. */
class InterfaceCalls implements Pick<Connection, "call" | "stream"> {
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
    const params = this.#encode(encode, request);
    const result = await this.#transport.call(operation, params, options);
    this.#legacy.lookAt(operation, codec.dialect, result);
    try {
      return decode(codec, result, request);
    } catch (error) {
      throw this.#unreadable(error);
    }
  }

  stream<Name extends keyof Streams>(
    operation: Name,
    request: Streams[Name],
    options?: StreamOptions,
  ): AsyncGenerator<readonly StreamItem[], void, undefined> {
    const { codec } = this.#transport;
    const params = STREAMS[operation](codec, request);
    const decode = (result: unknown): PublicEvent => {
      this.#legacy.lookAt(operation, codec.dialect, result);
      try {
        return codec.decodeEvent(result);
      } catch (error) {
        throw this.#unreadable(error);
      }
    };
    return this.#transport.stream(operation, params, decode, options);
  }

  /** Rejects what the version of this interface cannot express; with fallback it may differ per call. */
  #encode<Request>(encode: (codec: Codec, request: Request) => unknown, request: Request): unknown {
    try {
      return encode(this.#transport.codec, request);
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

/** How the request of each streaming operation is encoded; all of them respond with events. */
const STREAMS: {
  readonly [Name in keyof Streams]: (codec: Codec, request: Streams[Name]) => unknown;
} = {
  sendStreamingMessage: (codec, request) => codec.encodeSendMessage(request),
  subscribeToTask: (codec, request) => codec.encodeSubscribe(request),
};

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

/** An oddity of an agent that the client tolerates. */
export type AgentNotice = LegacyNotice | CardNotice;

interface LegacyNotice {
  /** The agent uses a form of an earlier A2A, which clients may stop supporting. */
  readonly kind: "legacy-form";
  /** A message for people. */
  readonly message: string;
  readonly form: LegacyForm;
}

export type LegacyForm =
  /** A 1.0 response has a `kind`, as in 0.3 (1.0 §A.2.1). */
  | "kind"
  /** A 0.3 response has no `kind`, as before 0.3. */
  | "no-kind"
  /** A 1.0 card declares its extended card in the field of 0.3 (1.0 §A.2.2). */
  | "extended-card";

export type OnAgentNotice = (notice: AgentNotice) => void;

const PROBLEMS: Readonly<Record<LegacyForm, string>> = {
  kind: 'its responses have a "kind", which A2A 1.0 removed',
  "no-kind": 'its responses have no "kind", which A2A 0.3 requires',
  "extended-card":
    "its card has supportsAuthenticatedExtendedCard, which A2A 1.0 calls capabilities.extendedAgentCard",
};

/** Reports each legacy form that an agent uses once (1.0 §A.2). */
export class LegacyForms {
  readonly #url: string;
  readonly #onNotice: OnAgentNotice;
  readonly #reported = new Set<LegacyForm>();

  constructor(url: string, onNotice: OnAgentNotice = () => undefined) {
    this.#url = url;
    this.#onNotice = onNotice;
  }

  lookAtCard(card: RawCard): void {
    this.#report(legacyFormInCard(card));
  }

  /** Checks a response before it is decoded. */
  lookAt(
    operation: keyof Calls | keyof Streams,
    dialect: Codec["dialect"],
    response: unknown,
  ): void {
    this.#report(legacyFormInResponse(operation, dialect, response));
  }

  #report(form: LegacyForm | undefined): void {
    if (form === undefined || this.#reported.has(form)) return;
    this.#reported.add(form);
    const message = `${this.#url} uses a legacy form of A2A: ${PROBLEMS[form]}`;
    this.#onNotice({ kind: "legacy-form", message, form });
  }
}
