import { chooseInterfaces, type ChosenInterface } from "./choose-interface.ts";
import type { ConnectOptions } from "./connect-options.ts";
import {
  type CallOptions,
  type Calls,
  ClientError,
  type Connection,
  type RawCard,
  type Speaking,
  type StreamItem,
  type StreamOptions,
  type Streams,
} from "@convoke/protocol";
import { FallbackConnection } from "./connection/fallback-connection.ts";
import { LegacyForms } from "./connection/legacy-forms.ts";
import { retryPolicy } from "./connection/retry-options.ts";
import { RetryingConnection } from "./connection/retrying-connection.ts";
import { SingleConnection } from "./connection/single-connection.ts";
import type { DiscoveredCard } from "./discover.ts";
import { RemoteAgent } from "./remote-agent.ts";
import { openTransport } from "./transports/open-transport.ts";
import { Visit } from "./visit.ts";
import { interfacesOf } from "./cards/card-interfaces.ts";
import { grpcUrl, webUrl } from "./cards/interface-url.ts";

/**
 * Finds the agent and chooses how to speak to it. It is named by its address,
 * by that of its card, or by the card itself.
 */
export async function connect(
  urlOrCard: string | RawCard,
  options: ConnectOptions = {},
): Promise<RemoteAgent> {
  const isUrl = typeof urlOrCard === "string";
  const cardUrl = isUrl ? urlOrCard : addressIn(urlOrCard, options.cardUrl);
  const visit = new Visit(cardUrl, options);
  try {
    const discovered = isUrl ? await visit.findCard() : { card: urlOrCard, cardUrl };
    if (!isUrl) await visit.checkCard(discovered);
    const remote = new RemoteAgent(connectionTo(discovered, visit, options));
    const { signal } = options;
    if (options.extended === true) await remote.extendedCard({ signal });
    return remote;
  } catch (error) {
    visit.client.close();
    throw error;
  }
}

function connectionTo(
  discovered: DiscoveredCard,
  visit: Visit,
  options: ConnectOptions,
): Connection {
  const { client, credentials } = visit;
  const { version, bindings, tenant, extensions, allowDowngrade = false, onNotice } = options;
  const hasGrpc = client.openHttp2 !== undefined;
  const preferences = { version, bindings, tenant, credentials, hasGrpc };
  const candidates = chooseInterfaces(discovered, preferences);
  const { card, cardUrl } = discovered;
  const legacy = new LegacyForms(new URL(cardUrl).origin, onNotice);
  legacy.lookAtCard(card);
  const transports = { client, credentials, extensions };
  const connection = new FallbackConnection({
    card,
    candidates: allowDowngrade && version === undefined ? withDowngrades(candidates) : candidates,
    open: async (chosen) =>
      new SingleConnection(card, await openTransport(chosen, transports), legacy),
    close: () => client.close(),
  });
  return new CardKeepingConnection(
    new RetryingConnection(connection, retryPolicy(options)),
    (extended) => visit.checkCard({ ...discovered, card: extended }),
  );
}

/**
 * The address that stands for a card which was given as an object: where it came
 * from, else its first interface. Credentials are bound to its origin.
 */
function addressIn(card: RawCard, cardUrl: string | undefined): string {
  if (cardUrl !== undefined) return cardUrl;
  for (const { url, binding } of interfacesOf(card)) {
    const read = binding.toUpperCase() === "GRPC" ? grpcUrl : webUrl;
    const address = read(url, undefined);
    if (address !== undefined) return address;
  }
  throw new ClientError(
    "no-interface",
    "the card names no interface by a whole URL; say in cardUrl where the card came from",
  );
}

/** Throws when a card is not signed as it must be. */
type CheckCard = (card: RawCard) => Promise<unknown>;

/**
 * A connection that knows the card for callers whom the agent knows, once it was
 * asked for: from then on it is the card of the session (0.3 §7.10, 1.0 §3.1.11).
 */
class CardKeepingConnection implements Connection {
  readonly #connection: Connection;
  readonly #check: CheckCard;
  #card: RawCard;

  constructor(connection: Connection, check: CheckCard) {
    this.#connection = connection;
    this.#check = check;
    this.#card = connection.card;
  }

  get card(): RawCard {
    return this.#card;
  }

  get speaking(): Speaking {
    return this.#connection.speaking;
  }

  async call<Name extends keyof Calls>(
    operation: Name,
    request: Calls[Name]["request"],
    options?: CallOptions,
  ): Promise<Calls[Name]["result"]> {
    if (operation !== "getExtendedCard") {
      return this.#connection.call(operation, request, options);
    }
    if (!hasExtendedCard(this.#card)) throw noExtendedCard(this.speaking.url);
    const card = await this.#connection.call("getExtendedCard", undefined, options);
    await this.#check(card);
    this.#card = card;
    return card as Calls[Name]["result"];
  }

  stream<Name extends keyof Streams>(
    operation: Name,
    request: Streams[Name],
    options?: StreamOptions,
  ): AsyncGenerator<readonly StreamItem[], void, undefined> {
    return this.#connection.stream(operation, request, options);
  }

  close(): void {
    this.#connection.close();
  }
}

/** 0.3 has a field for it, 1.0 a capability. */
function hasExtendedCard(card: RawCard): boolean {
  const { extendedAgentCard } = (card["capabilities"] ?? {}) as {
    readonly extendedAgentCard?: unknown;
  };
  return extendedAgentCard === true || card["supportsAuthenticatedExtendedCard"] === true;
}

function noExtendedCard(url: string): ClientError {
  return new ClientError("unsupported", `the card of ${url} says that it has no extended card`);
}

/** The interfaces, and after them each address of 1.0 once more with 0.3, which has no tenants. */
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
