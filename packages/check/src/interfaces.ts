import { type CardInterface, interfacesOf } from "@convoke/client";
import { type ProtocolVersion, parseVersion } from "@convoke/protocol";
import type { Cards } from "./scene/card-scene.ts";
import type { CheckSettings } from "./settings.ts";
import { type Binding, bindingOf } from "./wire/binding.ts";

/** An address that a card declares. */
export interface DeclaredInterface {
  /** As the card has them. */
  readonly name: string;
  readonly url: string;
  readonly tenant: string;
  /** Where and how to speak, or why not. */
  readonly reach: Reachable | { readonly skipped: string };
}

interface Reachable {
  readonly binding: Binding;
  readonly version: ProtocolVersion;
  readonly address: string;
}

/** Everything that the card declares, in its order, each once. */
export function declaredInterfaces(
  { current, plain }: Cards,
  settings: CheckSettings,
): readonly DeclaredInterface[] {
  const offers = [...interfacesOf(current.json), ...(plain ? interfacesOf(plain.json) : [])];
  const byAddress = new Map<string, DeclaredInterface>();
  for (const offer of offers) {
    const declared = declare(offer, current.url, settings);
    const { name, url, tenant, reach } = declared;
    const address = "address" in reach ? reach.address : url;
    const key = `${name} ${address} ${tenant}`;
    if (!byAddress.has(key)) byAddress.set(key, declared);
  }
  return [...byAddress.values()];
}

function declare(
  { url, binding, version, tenant = "" }: CardInterface,
  cardUrl: string,
  settings: CheckSettings,
): DeclaredInterface {
  const spoken = spokenVersion(version);
  const part = tenant === "" ? "" : ` for ${tenant}`;
  const name = `${binding || "(no binding)"} ${spoken ?? version}${part}`;
  return { name, url, tenant, reach: reachOf({ url, binding, version }, cardUrl, settings) };
}

function reachOf(
  { url, binding: name, version: written }: CardInterface,
  cardUrl: string,
  { allowOrigins, url: given, versions, bindings }: CheckSettings,
): DeclaredInterface["reach"] {
  const binding = bindingOf(name);
  const version = spokenVersion(written);
  if (binding === undefined) return { skipped: `"${name}" is no binding that is checked` };
  if (version === undefined) return { skipped: `version "${written}" is not 0.3 or 1.0` };
  if (versions.length > 0 && !versions.includes(version)) return { skipped: "--version" };
  if (bindings.length > 0 && !bindings.includes(binding)) return { skipped: "--binding" };
  const address = addressOf(url, binding, cardUrl);
  if (address === undefined) return { skipped: `"${url}" is no address` };
  const { origin } = new URL(address);
  if (origin !== new URL(given).origin && !allowOrigins.includes(origin)) {
    return { skipped: `it is at another origin than the card: --allow-origin ${origin}` };
  }
  return { binding, version, address };
}

function spokenVersion(written: string): ProtocolVersion | undefined {
  try {
    return parseVersion(written);
  } catch {
    return undefined;
  }
}

/** gRPC may be a host and a port; whether it has TLS then is told by how the card came. */
function addressOf(url: string, binding: Binding, cardUrl: string): string | undefined {
  const isBare = binding === "grpc" && !url.includes("://");
  const whole = isBare ? `${new URL(cardUrl).protocol}//${url}` : url;
  if (url === "" || !URL.canParse(whole, cardUrl)) return undefined;
  const address = new URL(whole, cardUrl);
  return /^https?:$/.test(address.protocol) ? address.href : undefined;
}
