import {
  type Clock,
  type PeerOptions,
  SYSTEM_CLOCK,
  cardUrlFor,
  openPeer,
  parseBaseUrl,
  checkMs,
  withTimeLimit,
} from "./peer.ts";
import { credentialsKey } from "../auth/credentials.ts";
import { ClientError, type RawCard } from "@convoke/protocol";
import { CardCache, missingFields } from "./card-cache.ts";
import { readText } from "@convoke/egress/http";
import { ExternalServiceError, ValidationError } from "./errors.ts";

/** Much more than any card needs. */
const MAX_BYTES = 1024 * 1024;

/** Cards are ready to be read; who takes longer is not there. */
const CARD_TIMEOUT_MS = 10_000;

/** The cards of this process. */
const CARDS = new CardCache();

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
  const base = parseBaseUrl(baseUrl);
  checkMs("timeoutMs", options.timeoutMs);
  const card = await readCard(base, options);
  const check = options.lenient === true ? lenientCard : strictCard;
  return check(card, cardUrlFor(base));
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

interface CardReading extends PeerOptions {
  readonly timeoutMs?: number | undefined;
}

/** The card of the agent at this address as the agent wrote it, from memory where it is there. */
export function readCard(base: string, options: CardReading): Promise<RawCard> {
  const { clock = SYSTEM_CLOCK, timeoutMs = CARD_TIMEOUT_MS } = options;
  const { auth, token, trusted = true, allow = [], signal } = options;
  const cardUrl = cardUrlFor(base);
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
    return await withTimeLimit({ clock, ms: timeoutMs, signal, error }, async (stop) => {
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

/** An agent card of which at least the name and the version are known. */
export interface A2AAgentCard extends RawCard {
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  readonly url?: string;
  readonly skills?: readonly A2AAgentSkill[];
}

/** What an agent can do, as its card says it. */
interface A2AAgentSkill {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  readonly tags?: readonly string[];
}

/** The card as it is, or an error that names what it lacks. */
function strictCard(card: RawCard, cardUrl: string): A2AAgentCard {
  const fields = missingFields(card);
  if (fields.length === 0) return card as A2AAgentCard;
  const what = fields.length === 1 ? "field" : "fields";
  throw new ValidationError(
    `Invalid Agent Card from ${cardUrl}: missing required ${what} (${fields.join(", ")}). ` +
      `The agent must add it, or read the card with lenient: true`,
    { fields, cardUrl },
  );
}

/** The card with the host for a name and nothing for a version, where it has none. */
function lenientCard(card: RawCard, cardUrl: string): A2AAgentCard {
  const fields = missingFields(card);
  return {
    ...card,
    ...(fields.includes("name") && { name: new URL(cardUrl).host }),
    ...(fields.includes("version") && { version: "" }),
  } as A2AAgentCard;
}
