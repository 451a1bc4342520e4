import { type CardInterface, listInterfaces } from "@convoke/client";
import { type ProtocolVersion, parseVersion } from "@convoke/protocol";
import type { Cards } from "../scene/card.ts";
import type { CheckSettings } from "../scene/settings.ts";
import { type Binding, parseBinding } from "../wire/client.ts";

/** An interface that a card declares. */
export interface DeclaredInterface {
  /** Binding, version and tenant, for example `JSONRPC 1.0`. */
  readonly name: string;
  /** As the card has it. */
  readonly url: string;
  readonly tenant: string;
  /** How to call it, or why it is skipped. */
  readonly reach: Reachable | { readonly skipped: string };
}

interface Reachable {
  readonly binding: Binding;
  readonly version: ProtocolVersion;
  readonly address: string;
}

/** Everything that the cards declare, in their order, without duplicates. */
export function declaredInterfaces(
  { current, plain }: Cards,
  settings: CheckSettings,
): readonly DeclaredInterface[] {
  const offers = [...listInterfaces(current.json), ...(plain ? listInterfaces(plain.json) : [])];
  const byAddress = new Map<string, DeclaredInterface>();
  for (const offer of offers) {
    const declared = toDeclared(offer, current.url, settings);
    const { name, url, tenant, reach } = declared;
    const address = "address" in reach ? reach.address : url;
    const key = `${name} ${address} ${tenant}`;
    if (!byAddress.has(key)) byAddress.set(key, declared);
  }
  return [...byAddress.values()];
}

function toDeclared(
  offer: CardInterface,
  cardUrl: string,
  settings: CheckSettings,
): DeclaredInterface {
  const { url, binding, version, tenant = "" } = offer;
  const suffix = tenant === "" ? "" : ` for ${tenant}`;
  const name = `${binding || "(no binding)"} ${knownVersion(version) ?? version}${suffix}`;
  return { name, url, tenant, reach: findReach(offer, cardUrl, settings) };
}

function findReach(
  { url, binding: bindingName, version: written }: CardInterface,
  cardUrl: string,
  { allowOrigins, url: given, versions, bindings }: CheckSettings,
): DeclaredInterface["reach"] {
  const binding = parseBinding(bindingName);
  const version = knownVersion(written);
  if (binding === undefined) return { skipped: `the binding "${bindingName}" cannot be checked` };
  if (version === undefined) return { skipped: `version "${written}" is not 0.3 or 1.0` };
  if (versions.length > 0 && !versions.includes(version)) {
    return { skipped: "not selected (option: version)" };
  }
  if (bindings.length > 0 && !bindings.includes(binding)) {
    return { skipped: "not selected (option: binding)" };
  }
  const address = toAddress(url, binding, cardUrl);
  if (address === undefined) return { skipped: `"${url}" is not an address` };
  const { origin } = new URL(address);
  if (origin !== new URL(given).origin && !allowOrigins.includes(origin)) {
    return { skipped: `${origin} is another origin than that of the card (option: allow-origin)` };
  }
  return { binding, version, address };
}

function knownVersion(written: string): ProtocolVersion | undefined {
  try {
    return parseVersion(written);
  } catch {
    return undefined;
  }
}

/** A gRPC address may be just a host and a port; then it uses TLS if the card did. */
function toAddress(url: string, binding: Binding, cardUrl: string): string | undefined {
  const isBare = binding === "grpc" && !url.includes("://");
  const whole = isBare ? `${new URL(cardUrl).protocol}//${url}` : url;
  if (url === "" || !URL.canParse(whole, cardUrl)) return undefined;
  const address = new URL(whole, cardUrl);
  return /^https?:$/.test(address.protocol) ? address.href : undefined;
}
