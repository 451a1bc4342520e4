import { credentialsKey } from "../auth/credentials-key.ts";
import type { RawCard } from "@convoke/protocol";
import { cardUrlOf } from "./base-url.ts";
import { CardCache } from "./card-cache.ts";
import { SYSTEM_CLOCK } from "./clock.ts";
import { loadCard } from "./load-card.ts";
import type { PeerOptions } from "./peer.ts";

/** Cards are ready to be read; who takes longer is not there. */
const CARD_TIMEOUT_MS = 10_000;

/** The cards of this process. */
const CARDS = new CardCache();

export interface CardReading extends PeerOptions {
  readonly timeoutMs?: number | undefined;
}

/** The card of the agent at this address as the agent wrote it, from memory where it is there. */
export function readCard(base: string, options: CardReading): Promise<RawCard> {
  const { clock = SYSTEM_CLOCK, timeoutMs = CARD_TIMEOUT_MS } = options;
  const { auth, token, trusted = true, allow = [], signal } = options;
  const cardUrl = cardUrlOf(base);
  // What one caller was shown, or may reach, is nothing that another may know.
  const key = JSON.stringify([cardUrl, credentialsKey(auth, token), trusted, allow]);
  return CARDS.read({
    key,
    now: () => clock.now(),
    load: (stop) => loadCard({ base, cardUrl, options, clock, timeoutMs, signal: stop }),
    signal,
  });
}

/** The next read of each card asks its agent again. */
export function clearAgentCardCache(): void {
  CARDS.clear();
}
