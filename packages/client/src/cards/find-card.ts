import { ClientError, type RawCard } from "@convoke/protocol";
import type { DiscoveredCard } from "./card.ts";
import type { Document } from "./document-cache.ts";

/** Reads a URL, from the cache or over the network. */
export type ReadUrl = (url: string) => Promise<Document>;

/** Finds the card of the agent at `given`; otherwise the error lists every URL that was tried and its response. */
export async function findCard(given: URL, read: ReadUrl): Promise<DiscoveredCard> {
  const answers: string[] = [];
  let needsAuth = false;
  for (const url of candidateUrls(given)) {
    const document = await read(url);
    const found = parseCard(document);
    if (typeof found === "object") return found;
    needsAuth ||= document.status === 401 || document.status === 403;
    answers.push(`${url} answered ${found}`);
  }
  const advice = needsAuth ? ". It requires authentication: pass a token, or auth" : "";
  throw new ClientError("no-card", `no agent card found: ${answers.join("; ")}${advice}`);
}

/**
 * The URLs where a card may be, the likeliest first: the URL itself if it names a file, below its path,
 * at its origin (0.3 §5.3; before 0.3 the name was `agent.json`).
 */
function candidateUrls(url: URL): readonly string[] {
  const isFile = url.pathname.endsWith(".json");
  const path = isFile ? "" : url.pathname.replace(/\/+$/, "");
  const bases = [...new Set([`${url.origin}${path}`, url.origin])];
  const wellKnown = bases.flatMap((base) => [
    `${base}/.well-known/agent-card.json`,
    `${base}/.well-known/agent.json`,
  ]);
  const urls = isFile ? [url.href, ...wellKnown] : wellKnown;
  return [...new Set(urls)];
}

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
