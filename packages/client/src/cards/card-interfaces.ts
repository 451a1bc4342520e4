import type { RawCard } from "@convoke/protocol";

/** `host:port`, as 1.0 has it; an address of IPv6 is in brackets. */
const HOST_AND_PORT = /^(?:\[[0-9a-f:.]+\]|[^\s/:@?#]+)(?::\d{1,5})?$/i;

/** One address that a card offers, as the card words it. */
export interface CardInterface {
  readonly url: string;
  readonly binding: string;
  readonly version: string;
  /** Goes into every request when the card names one (1.0 §8.3.2). */
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
    const key = JSON.stringify(offer);
    if (!byAddress.has(key)) byAddress.set(key, offer);
  }
  return [...byAddress.values()];
}

/** The address of an interface over HTTP, which may be relative to that of its card; undefined when it is none. */
export function webUrl(text: string, cardUrl: string | undefined): string | undefined {
  if (!URL.canParse(text, cardUrl)) return undefined;
  const url = new URL(text, cardUrl);
  const isWeb = url.protocol === "http:" || url.protocol === "https:";
  // A name or password in it would be sent; whoever wrote the card knows no secret of ours.
  return isWeb && url.username === "" && url.password === "" ? url.href : undefined;
}

/**
 * The address of a gRPC interface as a URL: `host:port` or a URL already. Without
 * a scheme it is TLS (1.0 §10), unless the card itself came over http and the
 * host is the card's own, or this machine: what has no certificate there has none here.
 */
export function grpcUrl(text: string, cardUrl: string | undefined): string | undefined {
  const url = text.replace(/^grpcs:/i, "https:").replace(/^grpc:/i, "http:");
  if (!HOST_AND_PORT.test(url)) return webUrl(url, cardUrl);
  const secure = webUrl(`https://${url}`, undefined);
  if (secure === undefined || cardUrl === undefined) return secure;
  const card = new URL(cardUrl);
  const { hostname } = new URL(secure);
  const isOpen = card.protocol === "http:" && (hostname === card.hostname || isLoopback(hostname));
  return isOpen ? webUrl(`http://${url}`, undefined) : secure;
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname);
}
