import { type A2AAgentCard, lenientCard, strictCard } from "./agent-card.ts";
import { readCard } from "./agent-cards.ts";
import { cardUrlOf, readBaseUrl } from "./base-url.ts";
import type { PeerOptions } from "./peer.ts";
import { readMs } from "./read-ms.ts";

export interface AgentCardOptions extends PeerOptions {
  /** Takes a card without name or version too; then the host is its name and its version is empty. */
  readonly lenient?: boolean | undefined;
  /** By default 10 seconds. */
  readonly timeoutMs?: number | undefined;
}

/**
 * The card at `/.well-known/agent-card.json` below the address. It is kept in
 * memory for five minutes, whatever its headers say.
 *
 * Throws an `ExternalServiceError` when the agent does not show one, with the HTTP
 * status where it answered, and a `ValidationError` for a card without name or version.
 */
export async function fetchAgentCard(
  baseUrl: string,
  options: AgentCardOptions = {},
): Promise<A2AAgentCard> {
  const base = readBaseUrl(baseUrl);
  readMs("timeoutMs", options.timeoutMs);
  const card = await readCard(base, options);
  const check = options.lenient === true ? lenientCard : strictCard;
  return check(card, cardUrlOf(base));
}

/** The same, with `null` for whatever may go wrong. */
export async function discoverAgent(
  baseUrl: string,
  options: AgentCardOptions = {},
): Promise<A2AAgentCard | null> {
  try {
    return await fetchAgentCard(baseUrl, options);
  } catch {
    return null;
  }
}
