import { type Calls, ClientError, type Connection, type RawCard } from "@convoke/protocol";
import { offersExtendedCard } from "../cards/card.ts";
import type { Interceptor } from "./interceptor.ts";

export interface ExtendedCardOptions {
  readonly speaking: Connection["speaking"];
  /** The card in use. */
  card: RawCard;
}

/**
 * Once the extended card has been fetched it is the card of the connection (0.3 §7.10, 1.0 §3.1.11).
 * `verify` rejects a card that is not signed as the options require.
 */
export function keepExtendedCard(
  connection: ExtendedCardOptions,
  verify: (card: RawCard) => Promise<unknown>,
): Interceptor {
  return (next) => ({
    async call<Name extends keyof Calls>(
      ...[operation, request, options]: Parameters<typeof next.call<Name>>
    ): Promise<Calls[Name]["result"]> {
      if (operation !== "getExtendedCard") return next.call(operation, request, options);
      if (!offersExtendedCard(connection.card)) throw noExtendedCard(connection.speaking.url);
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
