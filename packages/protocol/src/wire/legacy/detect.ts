import { isObject } from "../../internal/json.ts";
import type { Calls, RawCard, Streams } from "../../model/connection.ts";
import type { WireDialect } from "../codec/codec.ts";

/** A legacy form that an agent uses and that clients report (1.0 §A.2). */
type LegacyForm =
  /** Its 1.0 responses have a `kind`, which 1.0 removed. */
  | "kind"
  /** Its 0.3 responses have no `kind`, which 0.3 requires. */
  | "no-kind"
  /** Its card has `supportsAuthenticatedExtendedCard`, which 1.0 calls `capabilities.extendedAgentCard`. */
  | "extended-card";

/** The operations that respond with a task, a message or an event, where versions differ in `kind`. */
const WITH_KIND: ReadonlySet<keyof Calls | keyof Streams> = new Set([
  "sendMessage",
  "getTask",
  "cancelTask",
  "sendStreamingMessage",
  "subscribeToTask",
]);

/** The legacy form in a response before it is decoded, if any. */
export function legacyFormInResponse(
  operation: keyof Calls | keyof Streams,
  dialect: WireDialect,
  response: unknown,
): LegacyForm | undefined {
  if (!WITH_KIND.has(operation) || typeof response !== "object" || response === null) {
    return undefined;
  }
  if (dialect === "1.0" && "kind" in response) return "kind";
  return dialect === "0.3" && !("kind" in response) ? "no-kind" : undefined;
}

/** The legacy form in a card, if any. A card for both versions has both names, each for its readers. */
export function legacyFormInCard(card: RawCard): LegacyForm | undefined {
  const { supportedInterfaces, capabilities, supportsAuthenticatedExtendedCard } = card;
  if (supportedInterfaces === undefined) return undefined;
  if (isObject(capabilities) && "extendedAgentCard" in capabilities) return undefined;
  return supportsAuthenticatedExtendedCard === true ? "extended-card" : undefined;
}
