import {
  type Clock,
  type PeerOptions,
  SYSTEM_CLOCK,
  cardUrlFor,
  checkMs,
  openPeer,
  parseBaseUrl,
  withTimeLimit,
} from "./peer.ts";
import { credentialsKey } from "../auth/credentials.ts";
import { ClientError, type RawCard } from "@convoke/protocol";
import { readText } from "@convoke/egress/http";
import { ExternalServiceError, ValidationError } from "./errors.ts";
import { SharedWork } from "../cards/shared-work.ts";

/** Five minutes, whatever the headers of the answer say. */
const FRESH_MS = 5 * 60_000;

/** About as many agents as one program calls. */
const MAX_CARDS = 256;

/** Caches cards for five minutes each. Concurrent reads of the same card share one request. */
export class CardCache {
  #kept = new Map<string, Kept>();
  #loading = new Map<string, SharedWork<RawCard>>();

  async read({ key, now, load, signal }: CardRead): Promise<RawCard> {
    const known = this.#kept.get(key);
    if (known !== undefined && now() - known.since <= FRESH_MS) return known.card;
    this.#prune(now());
    const loading = this.#loading;
    const work = loading.get(key) ?? new SharedWork((stop) => this.#load({ key, now, load }, stop));
    loading.set(key, work);
    work.onEnd(() => {
      if (loading.get(key) === work) loading.delete(key);
    });
    return work.wait(signal);
  }

  /** Requests in flight still resolve for their waiters, but are not cached. */
  clear(): void {
    this.#kept = new Map();
    this.#loading = new Map();
  }

  async #load({ key, now, load }: Omit<CardRead, "signal">, stop: AbortSignal): Promise<RawCard> {
    const kept = this.#kept;
    const card = await load(stop);
    // An incomplete card may be fixed any time, so it is not cached.
    if (missingFields(card).length === 0) kept.set(key, { card, since: now() });
    return card;
  }

  #prune(now: number): void {
    for (const [key, { since }] of this.#kept) {
      const isStale = now - since > FRESH_MS;
      if (isStale || this.#kept.size >= MAX_CARDS) this.#kept.delete(key);
    }
  }

  /** The number of cached cards, including stale ones. */
  get size(): number {
    return this.#kept.size;
  }
}

export interface AgentCardOptions extends PeerOptions {
  /** Also accepts a card without name or version: the name is then the host, the version empty. Default false. */
  readonly lenient?: boolean | undefined;
  /** Time limit in milliseconds; default 10 s. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Fetches the card at `/.well-known/agent-card.json` below the URL. It is cached for five minutes,
 * whatever its headers say.
 *
 * Throws an `ExternalServiceError` if the agent has none, with the HTTP
 * status if it responded, and a `ValidationError` for a card without name or version.
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

/** Like `fetchAgentCard`, but returns `null` on any failure. */
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

/** The cards of this process. */
const CARDS = new CardCache();

/** A card is a static document: a server that needs longer is not working. */
const CARD_TIMEOUT_MS = 10_000;

/** The card of the agent, unchanged, from the cache if possible. */
export function readCard(base: string, options: CardReading): Promise<RawCard> {
  const { clock = SYSTEM_CLOCK, timeoutMs = CARD_TIMEOUT_MS } = options;
  const { auth, token, trusted = true, allow = [], signal } = options;
  const cardUrl = cardUrlFor(base);
  // Callers with other credentials or permissions must not see each other's cards.
  const key = JSON.stringify([cardUrl, credentialsKey(auth, token), trusted, allow]);
  return CARDS.read({
    key,
    now: () => clock.now(),
    load: (stop) => loadCard({ base, cardUrl, options, clock, timeoutMs, signal: stop }),
    signal,
  });
}

/** Empties the cache: the next read of each card fetches it again. */
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

/** Much more than any card needs. */
const MAX_BYTES = 1024 * 1024;

/** Fetches a card over the network, once. */
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

/** A forbidden URL is the caller's mistake, everything else the agent's. */
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

/** An agent card with at least a name and a version. */
export interface A2AAgentCard extends RawCard {
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  readonly url?: string;
  readonly skills?: readonly A2AAgentSkill[];
  /** Protocols that the agent supports in addition to A2A. */
  readonly supportedProtocols?: readonly A2AProtocolExtension[];
}

/** A skill of an agent, as in its card. */
export interface A2AAgentSkill {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly inputModes?: readonly string[];
  readonly outputModes?: readonly string[];
}

/** A protocol that an agent supports, as cards of the polling protocol list it. */
export interface A2AProtocolExtension {
  readonly protocol: string;
  readonly version?: string;
  readonly description?: string;
  readonly endpoint?: string;
}

/** Returns the card; throws an error that names missing fields. */
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

/** The card with the host as its name and an empty version, if they are missing. */
function lenientCard(card: RawCard, cardUrl: string): A2AAgentCard {
  const fields = missingFields(card);
  return {
    ...card,
    ...(fields.includes("name") && { name: new URL(cardUrl).host }),
    ...(fields.includes("version") && { version: "" }),
  } as A2AAgentCard;
}

interface Kept {
  readonly card: RawCard;
  readonly since: number;
}

interface CardRead {
  /** Identifies the card and the caller. */
  readonly key: string;
  readonly now: () => number;
  readonly load: (signal: AbortSignal) => Promise<RawCard>;
  readonly signal: AbortSignal | undefined;
}

/** The required fields that a card lacks. */
function missingFields(card: RawCard): readonly string[] {
  return ["name", "version"].filter((field) => {
    const value = card[field];
    return typeof value !== "string" || value === "";
  });
}
