import { credentialsKey } from "../auth/credentials-key.ts";
import { ClientError, type RawCard } from "@convoke/protocol";
import { cardUrlOf } from "./base-url.ts";
import { CardCache } from "./card-cache.ts";
import { type Clock, SYSTEM_CLOCK } from "./clock.ts";
import { openPeer, type PeerOptions } from "./peer.ts";
import { readText } from "@convoke/egress/http";
import { ExternalServiceError, ValidationError } from "./errors.ts";
import { within } from "./within.ts";

/** Much more than any card needs. */
const MAX_BYTES = 1024 * 1024;

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

interface CardLoad {
  readonly base: string;
  readonly cardUrl: string;
  readonly options: PeerOptions;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Gets a card over the network, once. */
async function loadCard(load: CardLoad): Promise<RawCard> {
  const { base, cardUrl, options, clock, timeoutMs, signal } = load;
  const error = cardError(cardUrl, `no answer within ${timeoutMs}ms`);
  const peer = openPeer(base, options);
  try {
    return await within({ clock, ms: timeoutMs, signal, error }, async (stop) => {
      const answer = await peer.http.request({
        url: cardUrl,
        headers: { Accept: "application/json" },
        signal: stop,
      });
      const { status, statusText } = answer;
      const text = await readText(answer, stop, MAX_BYTES);
      if (status >= 200 && status < 300) return cardIn(text, cardUrl, status);
      throw cardError(cardUrl, `HTTP ${status} ${statusText}`.trim(), { status });
    });
  } catch (thrown) {
    signal.throwIfAborted();
    throw clearer(thrown, cardUrl);
  } finally {
    peer.close();
  }
}

function cardIn(text: string, cardUrl: string, status: number): RawCard {
  try {
    const card = JSON.parse(text) as unknown;
    if (typeof card === "object" && card !== null && !Array.isArray(card)) return card as RawCard;
    throw cardError(cardUrl, "the answer is JSON, but no object", { status });
  } catch (thrown) {
    if (thrown instanceof ExternalServiceError) throw thrown;
    throw cardError(cardUrl, "the answer is not JSON", { status });
  }
}

/** An address that may not be reached is the caller's mistake, all else the agent's. */
function clearer(thrown: unknown, cardUrl: string): unknown {
  if (!(thrown instanceof ClientError)) return thrown;
  if (thrown.kind === "refused") {
    return new ValidationError(
      `baseUrl may not be reached: ${thrown.message}`,
      { field: "baseUrl" },
      { cause: thrown },
    );
  }
  return cardError(cardUrl, thrown.message, { cause: thrown });
}

function cardError(
  cardUrl: string,
  problem: string,
  options: { readonly status?: number; readonly cause?: unknown } = {},
): ExternalServiceError {
  const message = `Failed to fetch Agent Card from ${cardUrl}: ${problem}`;
  return new ExternalServiceError("A2A", message, options);
}
