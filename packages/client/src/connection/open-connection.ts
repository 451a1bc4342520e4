import type { HttpClient } from "@convoke/egress/http";
import {
  type CallOptions,
  type Calls,
  ClientError,
  type Connection,
  EXTENSIONS,
  type OperationName,
  type ProtocolVersion,
  type RawCard,
  type SendMessageRequest,
} from "@convoke/protocol";
import type { Credentials } from "../auth/credentials.ts";
import {
  type DiscoveredCard,
  declaresExtension,
  deduplicatesByMessage,
  offersExtendedCard,
} from "../cards/card.ts";
import type { AnswerHead } from "../transports/transport.ts";
import {
  type BindingName,
  type ChosenInterface,
  chooseInterfaces,
} from "../cards/choose-interface.ts";
import { FallbackConnection } from "./fallback.ts";
import { type Interceptor, intercept } from "./interceptor.ts";
import { LegacyForms, type OnAgentNotice, openInterface } from "./interface-calls.ts";
import { type RetryOptions, retryCalls, retryPolicy } from "./retry.ts";

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
 *     idempotency              named in every message
 *     fallback                 the first interface that works
 *     one interface            codec of its version, transport of its binding, credentials
 */
export function openConnection(target: ConnectionTarget, options: ConnectionOptions): Connection {
  const { discovered, verify } = target;
  const fallback = openFallback(target, options);
  return intercept(fallback, [
    ...(options.interceptors ?? []),
    keepExtendedCard(fallback, (card) => verify({ ...discovered, card })),
    retryCalls(fallback, retryPolicy(options)),
    activateInMessages(fallback),
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
  let hasNamedIdempotency = false;
  const onHead = (headers: AnswerHead): void => {
    hasNamedIdempotency ||= namesIdempotency(headers);
  };
  const transports = { client, credentials, extensions: withIdempotency(card, extensions), onHead };
  return new FallbackConnection({
    card,
    candidates: allowDowngrade && version === undefined ? withDowngrades(candidates) : candidates,
    open: (chosen) => openInterface(chosen, { ...transports, legacy }),
    close: () => client.close(),
    hasNamedIdempotency: () => hasNamedIdempotency,
  });
}

/** A message is repeated if its answer is lost, so the agent is asked to process it once, if it can. */
function withIdempotency(card: RawCard, extensions: readonly string[] = []): readonly string[] {
  const { uri } = EXTENSIONS.idempotency;
  return declaresExtension(card, uri) ? [...new Set([...extensions, uri])] : extensions;
}

/** Whether a response says that idempotency was active for its request (1.0 §4.6.3). */
function namesIdempotency(headers: AnswerHead): boolean {
  const lists = [headers["a2a-extensions"], headers["x-a2a-extensions"]].join(",").split(",");
  return lists.some((named) => named.trim() === EXTENSIONS.idempotency.uri);
}

/** The headers that activate idempotency may be dropped on the way; the message itself arrives. */
function activateInMessages(connection: Pick<Connection, "card">): Interceptor {
  const { uri } = EXTENSIONS.idempotency;
  const marked = <Request>(operation: OperationName, request: Request): Request => {
    const isMessage = operation === "sendMessage" || operation === "sendStreamingMessage";
    if (!isMessage || !deduplicatesByMessage(connection.card)) return request;
    const { message, ...rest } = request as SendMessageRequest;
    const extensions = [...new Set([...(message.extensions ?? []), uri])];
    return { ...rest, message: { ...message, extensions } } as Request;
  };
  return (next) => ({
    call: (operation, request, options) =>
      next.call(operation, marked(operation, request), options),
    stream: (operation, request, options) =>
      next.stream(operation, marked(operation, request), options),
  });
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
  return (next) => {
    const fetchCard = async (options: CallOptions | undefined): Promise<RawCard> => {
      if (!offersExtendedCard(connection.card))
        throw noExtendedCard(connection.selectedInterface.url);
      const card = await next.call("getExtendedCard", undefined, options);
      await verify(card);
      connection.card = card;
      return card;
    };
    return {
      call<Name extends keyof Calls>(
        ...[operation, request, options]: Parameters<typeof next.call<Name>>
      ): Promise<Calls[Name]["result"]> {
        if (operation !== "getExtendedCard") return next.call(operation, request, options);
        return fetchCard(options) as Promise<Calls[Name]["result"]>;
      },
      stream: (operation, request, options) => next.stream(operation, request, options),
    };
  };
}

function noExtendedCard(url: string): ClientError {
  return new ClientError("unsupported", `the card of ${url} says that it has no extended card`);
}
