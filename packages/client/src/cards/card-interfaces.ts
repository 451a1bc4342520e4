import type { RawCard } from "@convoke/protocol";

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
