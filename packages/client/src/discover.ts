import { ClientError } from "./errors.ts";
import { Http, type HttpOptions, readText } from "./http.ts";

/** An agent card as the agent wrote it. */
export type RawCard = Readonly<Record<string, unknown>>;

/** A card and the address that showed it. */
export interface DiscoveredCard {
  readonly card: RawCard;
  readonly cardUrl: string;
}

export interface DiscoverOptions {
  /** A bearer token; it is sent to the origin of the given URL only. */
  readonly token?: string | undefined;
  /** Speak this version of A2A; by default the newest that the agent offers. */
  readonly version?: HttpOptions["version"] | undefined;
  /** Instead of the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Reads the card of the agent at `url`, which is its base address or that of the card itself. */
export async function discover(
  url: string,
  options: DiscoverOptions = {},
): Promise<DiscoveredCard> {
  const given = agentUrl(url);
  const http = new Http({ ...options, version: options.version ?? "1.0", origin: given.origin });
  const answers: string[] = [];
  for (const cardUrl of placesOf(given)) {
    const found = await readCard(http, cardUrl, options.signal);
    if (typeof found === "object") return found;
    answers.push(`${cardUrl} answered ${found}`);
  }
  throw new ClientError("no-card", `no agent card found: ${answers.join("; ")}`);
}

function agentUrl(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol === "http:" || parsed?.protocol === "https:") return parsed;
  throw new TypeError(`"${url}" is not an http or https URL`);
}

/** The places where a card may be, the likeliest first (0.3 §5.3; before 0.3 it was `agent.json`). */
function placesOf(url: URL): readonly string[] {
  if (url.pathname.endsWith(".json")) return [url.href];
  const base = `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
  return [`${base}/.well-known/agent-card.json`, `${base}/.well-known/agent.json`];
}

/** The card, or in words what was there instead. */
async function readCard(
  http: Http,
  url: string,
  signal: AbortSignal | undefined,
): Promise<DiscoveredCard | string> {
  const response = await http.request(url, { headers: { Accept: "application/json" }, signal });
  const text = await readText(response, url, signal);
  if (!response.ok) return `${response.status} ${response.statusText}`.trim();
  try {
    const card = JSON.parse(text) as unknown;
    if (typeof card === "object" && card !== null && !Array.isArray(card)) {
      // After a redirect, what the card says is relative to where it was found.
      return { card: card as RawCard, cardUrl: response.url || url };
    }
    return `${response.status} with JSON that is not an object`;
  } catch {
    return `${response.status} with something that is not JSON`;
  }
}
