import { ClientError, type RawCard } from "@convoke/protocol";
import type { DiscoveredCard } from "./card.ts";
import type { Document } from "./document-cache.ts";

/** Gets what is at a URL, from a cache or over the network. */
export type ReadUrl = (url: string) => Promise<Document>;

/** Reads the card of the agent at `given`, or says of every place what was there instead. */
export async function findCard(given: URL, read: ReadUrl): Promise<DiscoveredCard> {
  const answers: string[] = [];
  let isRefused = false;
  for (const url of placesOf(given)) {
    const document = await read(url);
    const found = cardIn(document);
    if (typeof found === "object") return found;
    isRefused ||= document.status === 401 || document.status === 403;
    answers.push(`${url} answered ${found}`);
  }
  const advice = isRefused ? ". It wants to know who asks: give a token, or auth" : "";
  throw new ClientError("no-card", `no agent card found: ${answers.join("; ")}${advice}`);
}

/**
 * The places where a card may be, the likeliest first: the URL itself when it
 * names a file, below its path, at its origin (0.3 §5.3; before 0.3 it was
 * `agent.json`).
 */
function placesOf(url: URL): readonly string[] {
  const isFile = url.pathname.endsWith(".json");
  const path = isFile ? "" : url.pathname.replace(/\/+$/, "");
  const bases = [...new Set([`${url.origin}${path}`, url.origin])];
  const wellKnown = bases.flatMap((base) => [
    `${base}/.well-known/agent-card.json`,
    `${base}/.well-known/agent.json`,
  ]);
  const places = isFile ? [url.href, ...wellKnown] : wellKnown;
  return [...new Set(places)];
}

/** The card, or in words what is there instead. */
function cardIn({ status, statusText, headers, text, url }: Document): DiscoveredCard | string {
  if (status !== 200) {
    const asks = headers["www-authenticate"];
    const wanted = status === 401 && asks ? ` (it asks for ${asks.slice(0, 100)})` : "";
    return `${`${status} ${statusText}`.trim()}${wanted}`;
  }
  try {
    const card = JSON.parse(text) as unknown;
    if (typeof card === "object" && card !== null && !Array.isArray(card)) {
      // After a redirect, what the card says is relative to where it was found.
      return { card: card as RawCard, cardUrl: url };
    }
    return `${status} with JSON that is not an object`;
  } catch {
    return `${status} with something that is not JSON`;
  }
}
