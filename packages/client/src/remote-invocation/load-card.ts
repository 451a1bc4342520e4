import { ClientError, type RawCard } from "@convoke/protocol";
import { readText } from "@convoke/egress/http";
import type { Clock } from "./clock.ts";
import { ExternalServiceError, ValidationError } from "./errors.ts";
import { type PeerOptions, openPeer } from "./peer.ts";
import { within } from "./within.ts";

/** Much more than any card needs. */
const MAX_BYTES = 1024 * 1024;

export interface CardLoad {
  readonly base: string;
  readonly cardUrl: string;
  readonly options: PeerOptions;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Gets a card over the network, once. */
export async function loadCard(load: CardLoad): Promise<RawCard> {
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
