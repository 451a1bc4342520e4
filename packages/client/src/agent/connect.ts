import { ClientError, type RawCard } from "@convoke/protocol";
import { grpcUrl, listInterfaces, webUrl } from "../cards/card-interfaces.ts";
import { AgentDiscovery, type DiscoverOptions } from "../cards/discovery.ts";
import { type ConnectionOptions, openConnection } from "../connection/open-connection.ts";
import { RemoteAgent } from "./remote-agent.ts";

/** `signal` aborts connecting; each later call takes a signal of its own. */
export interface ConnectOptions extends Omit<DiscoverOptions, "onNotice">, ConnectionOptions {
  /** Fetch the card for authenticated callers and use it for this connection. Default false. */
  readonly extended?: boolean | undefined;
  /** Where a card that is passed as an object came from: its relative URLs are resolved against it. */
  readonly cardUrl?: string | undefined;
}

/**
 * Finds an agent and chooses how to call it. Takes the URL of the agent, the URL of its card, or the
 * card itself.
 *
 * @example
 * const agent = await connect("https://agent.example");
 * const { text } = await agent.send("count 3");
 */
export async function connect(
  urlOrCard: string | RawCard,
  options: ConnectOptions = {},
): Promise<RemoteAgent> {
  const isUrl = typeof urlOrCard === "string";
  const cardUrl = isUrl ? urlOrCard : addressIn(urlOrCard, options.cardUrl);
  const discovery = new AgentDiscovery(cardUrl, options);
  const { client } = discovery;
  try {
    const discovered = isUrl ? await discovery.findCard() : { card: urlOrCard, cardUrl };
    if (!isUrl) await discovery.checkCard(discovered);
    const credentials = discovery.credentials?.withCard(discovered.card);
    const verify = discovery.checkCard.bind(discovery);
    const connection = openConnection({ discovered, client, credentials, verify }, options);
    const remote = new RemoteAgent(connection, client);
    const { signal } = options;
    if (options.extended === true) await remote.extendedCard({ signal });
    return remote;
  } catch (error) {
    client.close();
    throw error;
  }
}

/**
 * The address of a card that was passed as an object: where it came from, or its first interface.
 * Credentials are bound to the origin of this address.
 */
function addressIn(card: RawCard, cardUrl: string | undefined): string {
  if (cardUrl !== undefined) return cardUrl;
  for (const { url, binding } of listInterfaces(card)) {
    const parse = binding.toUpperCase() === "GRPC" ? grpcUrl : webUrl;
    const address = parse(url, undefined);
    if (address !== undefined) return address;
  }
  throw new ClientError(
    "no-interface",
    "the card names no interface by a whole URL; say in cardUrl where the card came from",
  );
}
