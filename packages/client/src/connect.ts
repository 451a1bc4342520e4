import { chooseInterfaces } from "./choose-interface.ts";
import { addressIn } from "./cards/address-in.ts";
import type { ConnectOptions } from "./connect-options.ts";
import { CardKeepingConnection } from "./connection/card-keeping-connection.ts";
import type { Connection, RawCard } from "@convoke/protocol";
import { withDowngrades } from "./connection/downgrades.ts";
import { FallbackConnection } from "./connection/fallback-connection.ts";
import { LegacyForms } from "./connection/legacy-forms.ts";
import { retryPolicy } from "./connection/retry-options.ts";
import { RetryingConnection } from "./connection/retrying-connection.ts";
import { SingleConnection } from "./connection/single-connection.ts";
import type { DiscoveredCard } from "./discover.ts";
import { RemoteAgent } from "./remote-agent.ts";
import { openTransport } from "./transports/open-transport.ts";
import { Visit } from "./visit.ts";

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
