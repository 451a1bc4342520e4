import type { RawCard } from "@convoke/protocol";

/** What only cards of A2A have: the list of 1.0, then the fields of 0.3. */
const LISTS = ["supportedInterfaces", "additionalInterfaces"];
const WORDS = ["protocolVersion", "preferredTransport"];

/**
 * Whether a card says how its agent speaks A2A. A `url` alone is not enough,
 * because cards of the polling protocol have one too.
 */
export function speaksA2a(card: RawCard): boolean {
  return (
    LISTS.some((field) => Array.isArray(card[field]) && card[field].length > 0) ||
    WORDS.some((field) => typeof card[field] === "string")
  );
}
