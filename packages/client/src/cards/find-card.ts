import { ClientError, type RawCard } from "@convoke/protocol";
import { isObject, oneLine } from "@convoke/protocol/internal";
import type { DiscoveredCard } from "./card.ts";
import type { Document } from "./document-cache.ts";

/** Reads a URL, from the cache or over the network. */
export type ReadUrl = (url: string) => Promise<Document>;

/** The card is not at the path that was given. */
export interface CardNotice {
  readonly kind: "another-path";
  /** A message for people. */
  readonly message: string;
  readonly cardUrl: string;
}

/** Below this, each path is an agent of a host of several. */
const HOSTED = /^(?<base>.*)\/agents\/(?<id>[^/]+)/;

/** Finds the card of the agent at `given`; otherwise the error lists every URL that was tried and its response. */
export async function findCard(
  given: URL,
  read: ReadUrl,
  onNotice: (notice: CardNotice) => void = () => undefined,
): Promise<DiscoveredCard> {
  const answers: string[] = [];
  let needsAuth = false;
  for (const { url, isElsewhere } of candidateUrls(given)) {
    const document = await read(url);
    const found = parseCard(document);
    if (typeof found === "object") {
      if (isElsewhere) onNotice(toNotice(given, found));
      return found;
    }
    needsAuth ||= document.status === 401 || document.status === 403;
    answers.push(`${url} answered ${found}`);
  }
  const advice = needsAuth ? ". It requires authentication: pass a token, or auth" : "";
  const others = needsAuth ? "" : await otherAgents(given, read);
  throw new ClientError("no-card", `no agent card found: ${answers.join("; ")}${advice}${others}`);
}

function toNotice({ origin, pathname }: URL, { cardUrl }: DiscoveredCard): CardNotice {
  const message = `there is no agent card at ${origin}${pathname}; using the agent whose card is at ${cardUrl}`;
  return { kind: "another-path", message, cardUrl };
}

interface Candidate {
  readonly url: string;
  /** It is the card of the origin, and the given URL has a path. */
  readonly isElsewhere: boolean;
}

/**
 * The URLs where a card may be, the likeliest first: the URL itself if it names a file, below its path,
 * at its origin (0.3 §5.3; before 0.3 the name was `agent.json`). The agent at the origin of a host of
 * several is another one than was asked for: a message must not reach it because of a wrong name.
 */
function candidateUrls(url: URL): readonly Candidate[] {
  const isFile = url.pathname.endsWith(".json");
  const path = isFile ? "" : url.pathname.replace(/\/+$/, "");
  const own = `${url.origin}${path}`;
  const bases = HOSTED.test(path) ? [own] : [...new Set([own, url.origin])];
  const wellKnown = bases.flatMap((base) =>
    ["agent-card.json", "agent.json"].map((name): Candidate => {
      return { url: `${base}/.well-known/${name}`, isElsewhere: base !== own };
    }),
  );
  if (!isFile || wellKnown.some((one) => one.url === url.href)) return wellKnown;
  return [{ url: url.href, isElsewhere: false }, ...wellKnown];
}

/** Names the agents of the host that was asked for one that it does not have. */
async function otherAgents({ origin, pathname }: URL, read: ReadUrl): Promise<string> {
  const { base, id } = HOSTED.exec(pathname)?.groups ?? {};
  if (id === undefined) return "";
  const list = parseCard(await read(`${origin}${base}/.well-known/agents.json`));
  const agents = typeof list === "object" ? list.card["agents"] : undefined;
  if (!Array.isArray(agents)) return "";
  const ids = agents.flatMap((agent: unknown) =>
    isObject(agent) && typeof agent["id"] === "string" ? [oneLine(agent["id"], 60)] : [],
  );
  const some = ids.slice(0, MAX_NAMED).join(", ") + (ids.length > MAX_NAMED ? ", …" : "");
  return ids.length === 0 ? "" : `. The host has no agent ${oneLine(id, 60)}; it has ${some}`;
}

/** The agents of a host that an error names. */
const MAX_NAMED = 20;

/** The card in a response, or a description of the response. */
function parseCard({ status, statusText, headers, text, url }: Document): DiscoveredCard | string {
  if (status !== 200) {
    const asks = headers["www-authenticate"];
    const wanted = status === 401 && asks ? ` (it asks for ${asks.slice(0, 100)})` : "";
    return `${`${status} ${statusText}`.trim()}${wanted}`;
  }
  try {
    const card = JSON.parse(text) as unknown;
    if (typeof card === "object" && card !== null && !Array.isArray(card)) {
      // After a redirect, relative URLs of the card are resolved against the final URL.
      return { card: card as RawCard, cardUrl: url };
    }
    return `${status} with JSON that is not an object`;
  } catch {
    return `${status} with something that is not JSON`;
  }
}
