import type { HttpClient } from "@convoke/egress/http";
import {
  A2AError,
  type CallOptions,
  type Calls,
  ClientError,
  type Codec,
  type Connection,
  EXTENSIONS,
  type ProtocolVersion,
  type RawCard,
  type StreamItem,
  type StreamOptions,
  type Streams,
  legacyFormInCard,
  legacyFormInResponse,
} from "@convoke/protocol";
import type { Credentials } from "../auth/credentials.ts";
import { type DiscoveredCard, deduplicatesMessages, offersExtendedCard } from "../cards/card.ts";
import {
  type BindingName,
  type ChosenInterface,
  chooseInterfaces,
} from "../cards/choose-interface.ts";
import { openTransport } from "../transports/open-transport.ts";
import type { LegacyForm, OnAgentNotice } from "./agent-notice.ts";
import { FallbackConnection } from "./fallback.ts";
import { type Interceptor, intercept } from "./interceptor.ts";
import { type RetryOptions, retryCalls, retryPolicy } from "./retry.ts";
import { type Frame, type Transport, readBatch } from "../transports/transport.ts";

/** How an agent is called, as far as users can choose it. */
export interface ConnectionOptions {
  /** Use only this version of A2A; by default the newest that the agent offers. */
  readonly version?: ProtocolVersion | undefined;
  /** Use only these bindings, in this order of preference; by default the order of the card. */
  readonly bindings?: readonly BindingName[] | undefined;
  /** Call on behalf of this tenant, which the card must name; by default the tenant of its best interface. */
  readonly tenant?: string | undefined;
  /** URIs of A2A extensions that every request activates. */
  readonly extensions?: readonly string[] | undefined;
  /**
   * Whether to retry with 0.3 at an address that the card lists for 1.0 only, after it rejected 1.0.
   * Default false (1.0 §3.6.3). Interfaces that the card lists for 0.3 are used after those of 1.0
   * anyway, unless `version` is set.
   */
  readonly allowDowngrade?: boolean | undefined;
  /** How calls are retried; `false` makes one attempt. Default: 3 attempts. */
  readonly retry?: RetryOptions | false | undefined;
  /**
   * Time limit in milliseconds: of one attempt of a call, default 60 s, and of fetching the card,
   * default 30 s. Messages have none except your signal, because an agent may work on one for hours.
   */
  readonly timeoutMs?: number | undefined;
  /** Called once for each oddity of the agent that the client tolerates, such as fields of an earlier A2A. */
  readonly onNotice?: OnAgentNotice | undefined;
  /**
   * Wrap every call, the outermost first: to add headers, measure, log or reject. They see each
   * operation once, whatever is retried below them.
   */
  readonly interceptors?: readonly Interceptor[] | undefined;
}

/** What a connection needs to know about its agent. */
export interface ConnectionTarget {
  readonly discovered: DiscoveredCard;
  readonly client: HttpClient;
  readonly credentials: Credentials | undefined;
  /** Rejects if a card is not signed as the options require. */
  readonly verify: (discovered: DiscoveredCard) => Promise<unknown>;
}

/**
 * The connection to an agent. Each call passes, from the outside in:
 *
 *     request context          of a run: extensions, trace, headers (run/)
 *     your interceptors        in the given order
 *     extended card            replaces the card once it was fetched
 *     retry                    attempts and time limits of calls with a single response
 *     fallback                 the first interface that works
 *     codec and transport      one interface: version, binding, envelope, credentials
 */
export function openConnection(target: ConnectionTarget, options: ConnectionOptions): Connection {
  const { discovered, verify } = target;
  const fallback = openFallback(target, options);
  return intercept(fallback, [
    ...(options.interceptors ?? []),
    keepExtendedCard(fallback, (card) => verify({ ...discovered, card })),
    retryCalls(fallback, retryPolicy(options)),
  ]);
}

function openFallback(
  { discovered, client, credentials }: ConnectionTarget,
  { version, bindings, tenant, extensions, allowDowngrade = false, onNotice }: ConnectionOptions,
): FallbackConnection {
  const hasGrpc = client.openHttp2 !== undefined;
  const preferences = { version, bindings, tenant, credentials, hasGrpc };
  const candidates = chooseInterfaces(discovered, preferences);
  const { card, cardUrl } = discovered;
  const legacy = new LegacyForms(new URL(cardUrl).origin, onNotice);
  legacy.lookAtCard(card);
  const transports = { client, credentials, extensions: withIdempotency(card, extensions) };
  return new FallbackConnection({
    card,
    candidates: allowDowngrade && version === undefined ? withDowngrades(candidates) : candidates,
    open: async (chosen) => new TransportCalls(await openTransport(chosen, transports), legacy),
    close: () => client.close(),
  });
}

/** A message is repeated if its answer is lost, so the agent is asked to process it once, if it can. */
function withIdempotency(card: RawCard, extensions: readonly string[] = []): readonly string[] {
  return deduplicatesMessages(card)
    ? [...new Set([...extensions, EXTENSIONS.idempotency.uri])]
    : extensions;
}

/** The interfaces, followed by each 1.0 address with 0.3, which has no tenants. */
function withDowngrades(candidates: readonly ChosenInterface[]): readonly ChosenInterface[] {
  const older = candidates
    .filter(({ version }) => version === "1.0")
    .map(({ url, binding }): ChosenInterface => ({ url, binding, version: "0.3" }));
  const isListed = (one: ChosenInterface) =>
    candidates.some(
      (other) =>
        other.version === one.version && other.url === one.url && other.binding === one.binding,
    );
  return [...candidates, ...older.filter((one) => !isListed(one))];
}

interface ExtendedCardOptions {
  readonly selectedInterface: Connection["selectedInterface"];
  /** The card in use. */
  card: RawCard;
}

/**
 * Once the extended card has been fetched it is the card of the connection (0.3 §7.10, 1.0 §3.1.11).
 * `verify` rejects a card that is not signed as the options require.
 */
function keepExtendedCard(
  connection: ExtendedCardOptions,
  verify: (card: RawCard) => Promise<unknown>,
): Interceptor {
  return (next) => ({
    async call<Name extends keyof Calls>(
      ...[operation, request, options]: Parameters<typeof next.call<Name>>
    ): Promise<Calls[Name]["result"]> {
      if (operation !== "getExtendedCard") return next.call(operation, request, options);
      if (!offersExtendedCard(connection.card))
        throw noExtendedCard(connection.selectedInterface.url);
      const card = await next.call("getExtendedCard", undefined, options);
      await verify(card);
      connection.card = card;
      return card as Calls[Name]["result"];
    },
    stream: (operation, request, options) => next.stream(operation, request, options),
  });
}

function noExtendedCard(url: string): ClientError {
  return new ClientError("unsupported", `the card of ${url} says that it has no extended card`);
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

/** Calls of the model over one transport: encodes requests and decodes responses with its codec. */
class TransportCalls implements Pick<Connection, "call" | "stream"> {
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

const PROBLEMS: Readonly<Record<LegacyForm, string>> = {
  kind: 'its responses have a "kind", which A2A 1.0 removed',
  "no-kind": 'its responses have no "kind", which A2A 0.3 requires',
  "extended-card":
    "its card has supportsAuthenticatedExtendedCard, which A2A 1.0 calls capabilities.extendedAgentCard",
};

/** Reports each legacy form that an agent uses once (1.0 §A.2). */
class LegacyForms {
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
