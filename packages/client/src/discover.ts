import type { ProtocolVersion, RawCard } from "@convoke/protocol";
import type { Auth } from "./auth/auth.ts";
import type { CardSignature } from "./cards/check-card.ts";
import type { SignatureOptions } from "./cards/signature-options.ts";
import { Visit } from "./visit.ts";

/** A card and the address that showed it. */
export interface DiscoveredCard {
  readonly card: RawCard;
  readonly cardUrl: string;
  /** What its signatures are worth. */
  readonly signature?: CardSignature;
}

export interface DiscoverOptions extends SignatureOptions {
  /** A bearer token; it is sent to the origin of the given URL only. Short for `auth: { bearer }`. */
  readonly token?: string | undefined;
  /** Any other way to say who is calling, bound to the same origin. */
  readonly auth?: Auth | undefined;
  /** Speak this version of A2A and no other; by default the newest that the agent offers. */
  readonly version?: ProtocolVersion | undefined;
  /**
   * What a card may lead to although it is not public: `host`, `host:port`, an
   * address or a range. The origin of the given URL always may. Nothing else by default.
   */
  readonly allow?: readonly string[] | undefined;
  /**
   * False for a URL that comes from a model or from the network: then it may lead
   * to public addresses only, as what a card names. By default it is yours.
   */
  readonly trusted?: boolean | undefined;
  /** False asks for the card anew; by default it is kept as long as its server allows. */
  readonly cache?: boolean | undefined;
  /** Goes out by this instead of connections of our own; then there is no gRPC. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** How long getting the card may take, by default 30 seconds. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Reads the card of the agent at `url`, which is its base address or that of the card itself. */
export async function discover(
  url: string,
  options: DiscoverOptions = {},
): Promise<DiscoveredCard> {
  const visit = new Visit(url, options);
  try {
    return await visit.findCard();
  } finally {
    visit.client.close();
  }
}
