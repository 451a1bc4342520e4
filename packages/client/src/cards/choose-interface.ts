import { type Binding, ClientError, type ProtocolVersion, parseVersion } from "@convoke/protocol";
import type { Credentials } from "../auth/credentials.ts";
import { type CardInterface, grpcUrl, listInterfaces, webUrl } from "./card-interfaces.ts";
import type { DiscoveredCard } from "./card.ts";

/** An interface that this client supports. */
export interface ChosenInterface {
  readonly url: string;
  readonly version: ProtocolVersion;
  readonly binding: Binding;
  readonly tenant?: string;
}

/** The names of the bindings in options. */
export type BindingName = "jsonrpc" | "rest" | "grpc";

export interface InterfacePreferences {
  /** Only this version. */
  readonly version?: ProtocolVersion | undefined;
  /** Only these, in this order of preference; by default all, in the order of the card. */
  readonly bindings?: readonly BindingName[] | undefined;
  /** Only interfaces of this tenant; by default the tenant of the best one. */
  readonly tenant?: string | undefined;
  /** If there are credentials, only interfaces at their origins are used. */
  readonly credentials?: Credentials | undefined;
  /** Whether the HTTP client supports HTTP/2, which gRPC needs. */
  readonly hasGrpc?: boolean;
}

/**
 * The usable interfaces, the best first: 1.0 before 0.3, and within a version in the caller's order of
 * preference, else in the card's (1.0 §8.3.2). At least one, and all of the same tenant: a fallback
 * must not cross tenants.
 */
export function chooseInterfaces(
  discovered: DiscoveredCard,
  preferences: InterfacePreferences = {},
): readonly ChosenInterface[] {
  const { cardUrl } = discovered;
  const offers = listInterfaces(discovered.card);
  const supported = ranked(
    offers.flatMap((offer) => parseOffer(offer, cardUrl, preferences)),
    preferences,
  );
  if (supported.length === 0) throw noInterface(discovered, offers, preferences);
  const { credentials } = preferences;
  const permitted = supported.filter(({ url }) => credentials?.areFor(url) ?? true);
  const [best] = permitted;
  if (best === undefined) throw otherOrigin(supported, cardUrl);
  return permitted.filter(({ tenant }) => tenant === best.tenant);
}

/** The offer, if its binding and version are supported and its URL is valid. */
function parseOffer(
  offer: CardInterface,
  cardUrl: string,
  { hasGrpc = false, credentials }: InterfacePreferences,
): readonly ChosenInterface[] {
  const binding = parseBinding(offer.binding);
  const version = parseSupportedVersion(offer.version);
  if (binding === undefined || version === undefined || offer.url === "") return [];
  const url = binding === "GRPC" ? grpcUrl(offer.url, cardUrl) : webUrl(offer.url, cardUrl);
  if (url === undefined) return [];
  if (binding === "GRPC") {
    // gRPC cannot carry an API key in the query.
    const hasQuery = Object.keys(credentials?.queryFor(url) ?? {}).length > 0;
    if (!hasGrpc || hasQuery) return [];
  }
  const { tenant } = offer;
  return [{ url, version, binding, ...(tenant !== undefined && { tenant }) }];
}

const BINDINGS: Readonly<Record<BindingName, Binding>> = {
  jsonrpc: "JSONRPC",
  rest: "HTTP+JSON",
  grpc: "GRPC",
};

function ranked(
  offers: readonly ChosenInterface[],
  { version, bindings, tenant }: InterfacePreferences,
): readonly ChosenInterface[] {
  const preferred = bindings?.map((name) => BINDINGS[name]);
  const rankOf = ({ binding }: ChosenInterface) => preferred?.indexOf(binding) ?? 0;
  const unique = new Map(offers.map((offer) => [JSON.stringify(offer), offer]));
  return [...unique.values()]
    .filter((offer) => version === undefined || offer.version === version)
    .filter((offer) => rankOf(offer) >= 0)
    .filter((offer) => tenant === undefined || offer.tenant === tenant)
    .toSorted(
      (left, right) => Number(right.version) - Number(left.version) || rankOf(left) - rankOf(right),
    );
}

function noInterface(
  { cardUrl }: DiscoveredCard,
  offers: readonly CardInterface[],
  { version, bindings, tenant, hasGrpc = false }: InterfacePreferences,
): ClientError {
  const criteria = [
    bindings === undefined ? "" : ` for ${bindings.join(" or ")}`,
    version === undefined ? "" : ` of A2A ${version}`,
    tenant === undefined ? "" : ` for the tenant "${tenant}"`,
  ].join("");
  const offered = offers.map(({ binding, version: at, url }) => `${binding} ${at} at ${url}`);
  const noGrpc = hasGrpc ? "" : "; gRPC is not available here";
  const isGrpc = offers.some(({ binding }) => parseBinding(binding) === "GRPC");
  return new ClientError(
    "no-interface",
    `the card at ${cardUrl} offers no interface${criteria} that this client supports; ` +
      `it offers ${offered.join(", ") || "none at all"}${isGrpc ? noGrpc : ""}`,
  );
}

/** Calling without the credentials would only fail later, with a less helpful error. */
function otherOrigin(supported: readonly ChosenInterface[], cardUrl: string): ClientError {
  const others = [...new Set(supported.map(({ url }) => new URL(url).origin))].join(", ");
  const { origin } = new URL(cardUrl);
  return new ClientError(
    "other-origin",
    `the credentials were not given for ${others}, but the card at ${origin} lists only interfaces there; ` +
      `they are not sent to another origin. If you trust that address, ` +
      `connect to it directly, or name it in auth.origin`,
  );
}

function parseBinding(text: string): Binding | undefined {
  return Object.values(BINDINGS).find((binding) => binding === text.toUpperCase());
}

function parseSupportedVersion(text: string): ProtocolVersion | undefined {
  try {
    return parseVersion(text);
  } catch {
    return undefined;
  }
}
