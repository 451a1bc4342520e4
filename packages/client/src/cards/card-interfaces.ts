import type { RawCard } from "@convoke/protocol";

/** One interface of a card, in the card's own spelling. */
export interface CardInterface {
  readonly url: string;
  readonly binding: string;
  readonly version: string;
  /** Sent in every request if the card names one (1.0 §8.3.2). */
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
 * All interfaces of a card, in its order. The fields of 1.0 and 0.3 do not collide, so a card may have
 * both.
 */
export function listInterfaces(card: RawCard): readonly CardInterface[] {
  const { supportedInterfaces, url, preferredTransport, additionalInterfaces }: CardFields = card;
  const isLegacy = typeof url === "string";
  const current = entries(supportedInterfaces).map((entry) => ({
    url: asText(entry.url),
    binding: asText(entry.protocolBinding),
    // Early 1.0 servers omit the version; in a card with 0.3 fields that would be a guess.
    version: asText(entry.protocolVersion) || (isLegacy ? "unnamed" : "1.0"),
    ...(typeof entry.tenant === "string" && entry.tenant !== "" && { tenant: entry.tenant }),
  }));
  const main = isLegacy ? [{ url, transport: asText(preferredTransport) || "JSONRPC" }] : [];
  const legacy = [...main, ...entries(additionalInterfaces)].map((entry) => ({
    url: asText(entry.url),
    binding: asText(entry.transport),
    version: "0.3",
  }));
  return unique([...current, ...legacy]);
}

function entries(value: unknown): readonly Entry[] {
  if (!Array.isArray(value)) return [];
  return value.filter((entry) => typeof entry === "object" && entry !== null);
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** `additionalInterfaces` should repeat the main one (0.3 §5.6), and hybrid cards repeat all of 0.3. */
function unique(offers: readonly CardInterface[]): readonly CardInterface[] {
  const byAddress = new Map<string, CardInterface>();
  for (const offer of offers) {
    const key = JSON.stringify(offer);
    if (!byAddress.has(key)) byAddress.set(key, offer);
  }
  return [...byAddress.values()];
}

/** The URL of an HTTP interface, which may be relative to the card's; `undefined` if it is invalid. */
export function webUrl(text: string, cardUrl: string | undefined): string | undefined {
  if (!URL.canParse(text, cardUrl)) return undefined;
  const url = new URL(text, cardUrl);
  const isWeb = url.protocol === "http:" || url.protocol === "https:";
  // A user name or password in it would be sent as credentials, and a card must not choose those.
  return isWeb && url.username === "" && url.password === "" ? url.href : undefined;
}

/** `host:port` (1.0); IPv6 addresses are in brackets. */
const HOST_AND_PORT = /^(?:\[[0-9a-f:.]+\]|[^\s/:@?#]+)(?::\d{1,5})?$/i;

/**
 * The URL of a gRPC interface, from `host:port` or a URL. Without a scheme it means TLS (1.0 §10),
 * unless the card came over http and the host is the card's own or this machine: a host without a
 * certificate for its card has none for gRPC either.
 */
export function grpcUrl(text: string, cardUrl: string | undefined): string | undefined {
  const url = text.replace(/^grpcs:/i, "https:").replace(/^grpc:/i, "http:");
  if (!HOST_AND_PORT.test(url)) return webUrl(url, cardUrl);
  const secure = webUrl(`https://${url}`, undefined);
  if (secure === undefined || cardUrl === undefined) return secure;
  const card = new URL(cardUrl);
  const { hostname } = new URL(secure);
  const isPlaintext =
    card.protocol === "http:" && (hostname === card.hostname || isLoopback(hostname));
  return isPlaintext ? webUrl(`http://${url}`, undefined) : secure;
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname);
}
