import { type ProtocolVersion, parseVersion } from "@convoke/protocol";
import type { DiscoveredCard, RawCard } from "./discover.ts";
import { ClientError } from "./errors.ts";

/** One address that a card offers, as the card words it. */
export interface CardInterface {
  readonly url: string;
  readonly binding: string;
  readonly version: string;
  /** Goes into every request when the card names one (1.0 §8.3.2). */
  readonly tenant?: string;
}

/** The address we will speak to. */
export interface ChosenInterface {
  readonly url: string;
  readonly version: ProtocolVersion;
  readonly tenant?: string;
}

interface CardFields {
  readonly supportedInterfaces?: unknown;
  readonly url?: unknown;
  readonly preferredTransport?: unknown;
  readonly additionalInterfaces?: unknown;
}

interface Entry {
  readonly url?: unknown;
  readonly protocolBinding?: unknown;
  readonly protocolVersion?: unknown;
  readonly transport?: unknown;
  readonly tenant?: unknown;
}

/**
 * Everything a card offers, in its order. The fields of 1.0 and 0.3 do not
 * collide, so a card may have both.
 */
export function interfacesOf(card: RawCard): readonly CardInterface[] {
  const { supportedInterfaces, url, preferredTransport, additionalInterfaces }: CardFields = card;
  const isLegacy = typeof url === "string";
  const current = entries(supportedInterfaces).map((entry) => ({
    url: words(entry.url),
    binding: words(entry.protocolBinding),
    // Early 1.0 servers leave the version out; beside 0.3 fields that would be a guess.
    version: words(entry.protocolVersion) || (isLegacy ? "unnamed" : "1.0"),
    ...(typeof entry.tenant === "string" && entry.tenant !== "" && { tenant: entry.tenant }),
  }));
  const main = isLegacy ? [{ url, transport: words(preferredTransport) || "JSONRPC" }] : [];
  const legacy = [...main, ...entries(additionalInterfaces)].map((entry) => ({
    url: words(entry.url),
    binding: words(entry.transport),
    version: "0.3",
  }));
  return uniqueOf([...current, ...legacy]);
}

/** The JSON-RPC interface to use: 1.0 before 0.3, unless a version is demanded. */
export function chooseInterface(
  { card, cardUrl }: DiscoveredCard,
  demanded: ProtocolVersion | undefined,
): ChosenInterface {
  const offers = interfacesOf(card);
  const versions: readonly ProtocolVersion[] = demanded === undefined ? ["1.0", "0.3"] : [demanded];
  for (const version of versions) {
    const offer = offers.find((entry) => isUsable(entry, cardUrl) && speaks(entry, version));
    if (offer === undefined) continue;
    const { url, tenant } = offer;
    return { url: new URL(url, cardUrl).href, version, ...(tenant !== undefined && { tenant }) };
  }
  const wanted = demanded === undefined ? "" : ` of A2A ${demanded}`;
  const offered = offers.map(({ binding, version, url }) => `${binding} ${version} at ${url}`);
  throw new ClientError(
    "no-interface",
    `the card at ${cardUrl} offers no JSON-RPC interface${wanted}; it offers ${offered.join(", ") || "none at all"}`,
  );
}

function isUsable({ binding, url }: CardInterface, cardUrl: string): boolean {
  if (binding.toUpperCase() !== "JSONRPC" || url === "" || !URL.canParse(url, cardUrl))
    return false;
  return /^https?:$/.test(new URL(url, cardUrl).protocol);
}

function speaks(offer: CardInterface, version: ProtocolVersion): boolean {
  try {
    return parseVersion(offer.version) === version;
  } catch {
    return false;
  }
}

function entries(value: unknown): readonly Entry[] {
  if (!Array.isArray(value)) return [];
  return value.filter((entry) => typeof entry === "object" && entry !== null);
}

function words(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** `additionalInterfaces` should repeat the main one (0.3 §5.6), and hybrid cards repeat all of 0.3. */
function uniqueOf(offers: readonly CardInterface[]): readonly CardInterface[] {
  const byAddress = new Map<string, CardInterface>();
  for (const offer of offers) {
    const key = `${offer.binding} ${offer.version} ${offer.url}`;
    if (!byAddress.has(key)) byAddress.set(key, offer);
  }
  return [...byAddress.values()];
}
