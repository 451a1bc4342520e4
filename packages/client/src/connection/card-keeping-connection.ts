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

/** Throws when a card is not signed as it must be. */
export type CheckCard = (card: RawCard) => Promise<unknown>;

/**
 * A connection that knows the card for callers whom the agent knows, once it was
 * asked for: from then on it is the card of the session (0.3 §7.10, 1.0 §3.1.11).
 */
export class CardKeepingConnection implements Connection {
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
