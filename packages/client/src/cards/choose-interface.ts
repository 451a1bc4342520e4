import { type Binding, ClientError, parseVersion, type ProtocolVersion } from "@convoke/protocol";
import type { Credentials } from "../auth/credentials.ts";
import { type CardInterface, grpcUrl, interfacesOf, webUrl } from "./card-interfaces.ts";
import type { DiscoveredCard } from "./card.ts";

/** An address that we can speak to. */
export interface ChosenInterface {
  readonly url: string;
  readonly version: ProtocolVersion;
  readonly binding: Binding;
  readonly tenant?: string;
}

/** What users call the bindings. */
export type BindingName = "jsonrpc" | "rest" | "grpc";

const BINDINGS: Readonly<Record<BindingName, Binding>> = {
  jsonrpc: "JSONRPC",
  rest: "HTTP+JSON",
  grpc: "GRPC",
};

export interface InterfacePreferences {
  /** Only this version. */
  readonly version?: ProtocolVersion | undefined;
  /** Only these, in this order; by default all, in the order of the card. */
  readonly bindings?: readonly BindingName[] | undefined;
  /** Only those of this tenant; by default whatever the best one has. */
  readonly tenant?: string | undefined;
  /** Who has credentials speaks only to the origins that they are for. */
  readonly credentials?: Credentials | undefined;
  /** Whether the way out has HTTP/2, which gRPC needs. */
  readonly hasGrpc?: boolean;
}

/**
 * The interfaces to speak to, the best first: 1.0 before 0.3, and within a
 * version as the caller prefers, else as the card does (1.0 §8.3.2). At least one,
 * and all of one tenant: what one does is not for another.
 */
export function chooseInterfaces(
  discovered: DiscoveredCard,
  preferences: InterfacePreferences = {},
): readonly ChosenInterface[] {
  const { cardUrl } = discovered;
  const offers = interfacesOf(discovered.card);
  const spoken = ranked(
    offers.flatMap((offer) => understood(offer, cardUrl, preferences)),
    preferences,
  );
  if (spoken.length === 0) throw noInterface(discovered, offers, preferences);
  const { credentials } = preferences;
  const known = spoken.filter(({ url }) => credentials?.areFor(url) ?? true);
  const [best] = known;
  if (best === undefined) throw otherOrigin(spoken, cardUrl);
  return known.filter(({ tenant }) => tenant === best.tenant);
}

/** The offer in our words, where we speak its binding and its version at its address. */
function understood(
  offer: CardInterface,
  cardUrl: string,
  { hasGrpc = false, credentials }: InterfacePreferences,
): readonly ChosenInterface[] {
  const binding = bindingOf(offer.binding);
  const version = versionOf(offer.version);
  if (binding === undefined || version === undefined || offer.url === "") return [];
  const url = binding === "GRPC" ? grpcUrl(offer.url, cardUrl) : webUrl(offer.url, cardUrl);
  if (url === undefined) return [];
  if (binding === "GRPC") {
    // gRPC has no place for a key that belongs into the query.
    const hasQuery = Object.keys(credentials?.queryFor(url) ?? {}).length > 0;
    if (!hasGrpc || hasQuery) return [];
  }
  const { tenant } = offer;
  return [{ url, version, binding, ...(tenant !== undefined && { tenant }) }];
}

function ranked(
  offers: readonly ChosenInterface[],
  { version, bindings, tenant }: InterfacePreferences,
): readonly ChosenInterface[] {
  const wanted = bindings?.map((name) => BINDINGS[name]);
  const placeOf = ({ binding }: ChosenInterface) => wanted?.indexOf(binding) ?? 0;
  const unique = new Map(offers.map((offer) => [JSON.stringify(offer), offer]));
  return [...unique.values()]
    .filter((offer) => version === undefined || offer.version === version)
    .filter((offer) => placeOf(offer) >= 0)
    .filter((offer) => tenant === undefined || offer.tenant === tenant)
    .toSorted(
      (left, right) =>
        Number(right.version) - Number(left.version) || placeOf(left) - placeOf(right),
    );
}

function noInterface(
  { cardUrl }: DiscoveredCard,
  offers: readonly CardInterface[],
  { version, bindings, tenant, hasGrpc = false }: InterfacePreferences,
): ClientError {
  const wanted = [
    bindings === undefined ? "" : ` by ${bindings.join(" or ")}`,
    version === undefined ? "" : ` of A2A ${version}`,
    tenant === undefined ? "" : ` for the tenant "${tenant}"`,
  ].join("");
  const offered = offers.map(({ binding, version: at, url }) => `${binding} ${at} at ${url}`);
  const noGrpc = hasGrpc ? "" : "; gRPC cannot be spoken here";
  const isGrpc = offers.some(({ binding }) => bindingOf(binding) === "GRPC");
  return new ClientError(
    "no-interface",
    `the card at ${cardUrl} offers no interface${wanted} that this client speaks; ` +
      `it offers ${offered.join(", ") || "none at all"}${isGrpc ? noGrpc : ""}`,
  );
}

/** Going on without the credentials would only fail later and say less. */
function otherOrigin(spoken: readonly ChosenInterface[], cardUrl: string): ClientError {
  const others = [...new Set(spoken.map(({ url }) => new URL(url).origin))].join(", ");
  const { origin } = new URL(cardUrl);
  return new ClientError(
    "other-origin",
    `the credentials were not given for ${others}, but the card at ${origin} leads only there; ` +
      `they are not sent to another origin. If you trust that address, ` +
      `connect to it itself, or name it in auth.origin`,
  );
}

function bindingOf(text: string): Binding | undefined {
  return Object.values(BINDINGS).find((binding) => binding === text.toUpperCase());
}

function versionOf(text: string): ProtocolVersion | undefined {
  try {
    return parseVersion(text);
  } catch {
    return undefined;
  }
}
