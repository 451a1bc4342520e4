import { EXTENSIONS, type RawCard } from "@convoke/protocol";
import { type JsonObject, isObject } from "@convoke/protocol/internal";
import type { CardSignature } from "./check-card.ts";

/** A card and the URL where it was found. */
export interface DiscoveredCard {
  readonly card: RawCard;
  readonly cardUrl: string;
  /** The result of verifying its signatures. */
  readonly signature?: CardSignature;
}

/** Whether a card declares an extension, with whatever parameters. */
export function declaresExtension(card: RawCard, uri: string): boolean {
  return declaredExtension(card, uri) !== undefined;
}

function declaredExtension(card: RawCard, uri: string): JsonObject | undefined {
  const { extensions } = capabilitiesOf(card);
  if (!Array.isArray(extensions)) return undefined;
  return extensions.filter(isObject).find((extension) => extension["uri"] === uri);
}

/**
 * Whether a message can activate idempotency itself. Then it certainly does: headers may be dropped on
 * the way.
 */
export function deduplicatesByMessage(card: RawCard): boolean {
  const params = declaredExtension(card, EXTENSIONS.idempotency.uri)?.["params"];
  return isObject(params) && params["inMessage"] === true;
}

/** Whether the card says that the agent does not stream; if it says nothing, streaming is tried. */
export function refusesStreams(card: RawCard): boolean {
  return capabilitiesOf(card)["streaming"] === false;
}

/** Whether the card says that the agent streams: then an error of a stream is not about streaming. */
export function promisesStreams(card: RawCard): boolean {
  return capabilitiesOf(card)["streaming"] === true;
}

/** Whether there is a card for authenticated callers: a field in 0.3, a capability in 1.0. */
export function offersExtendedCard(card: RawCard): boolean {
  const { extendedAgentCard } = capabilitiesOf(card);
  return extendedAgentCard === true || card["supportsAuthenticatedExtendedCard"] === true;
}

function capabilitiesOf(card: RawCard): Readonly<Record<string, unknown>> {
  const capabilities = card["capabilities"];
  return isObject(capabilities) ? capabilities : {};
}
