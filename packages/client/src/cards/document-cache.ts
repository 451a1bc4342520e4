import { SharedWork } from "./shared-work.ts";

interface Kept {
  readonly document: Document;
  readonly freshUntilMs: number;
}

export interface ReadDocument {
  readonly url: string;
  /** Who asks: documents for one caller are not shown to another. */
  readonly key: string;
  readonly fetch: FetchDocument;
  readonly signal?: AbortSignal | undefined;
}

/** About as many agents as one program speaks to. */
const MAX_DOCUMENTS = 256;

/**
 * Documents in memory, kept as HTTP says (RFC 9111) and asked for again by their
 * tag or date. Those who want the same one at the same time share one request.
 */
export class DocumentCache {
  /** The one that was used longest ago comes first. */
  readonly #kept = new Map<string, Kept>();
  readonly #reading = new Map<string, SharedWork<Document>>();

  async read({ url, key, fetch, signal }: ReadDocument): Promise<Document> {
    const name = `${key} ${url}`;
    const kept = this.#kept.get(name);
    if (kept !== undefined && Date.now() < kept.freshUntilMs) {
      this.#keep(name, kept);
      return kept.document;
    }
    const reading =
      this.#reading.get(name) ??
      new SharedWork((stop) => this.#fetch({ url, name, kept, fetch, stop }));
    this.#reading.set(name, reading);
    const isOver = () => {
      if (this.#reading.get(name) === reading) this.#reading.delete(name);
    };
    reading.onEnd(isOver);
    return reading.wait(signal);
  }

  clear(): void {
    this.#kept.clear();
  }

  async #fetch({
    url,
    name,
    kept,
    fetch,
    stop,
  }: {
    readonly url: string;
    readonly name: string;
    readonly kept: Kept | undefined;
    readonly fetch: FetchDocument;
    readonly stop: AbortSignal;
  }): Promise<Document> {
    const answer = await fetch(url, conditionsOf(kept), stop);
    const isUnchanged = answer.status === 304 && kept !== undefined;
    // The new headers count, and those that a 304 leaves out stay (RFC 9111 §4.3.4).
    const document = isUnchanged
      ? { ...kept.document, headers: { ...kept.document.headers, ...answer.headers } }
      : answer;
    const { mayStore, freshUntilMs } = freshnessOf(document.headers, Date.now());
    if (mayStore && document.status === 200) this.#keep(name, { document, freshUntilMs });
    else this.#kept.delete(name);
    return document;
  }

  #keep(name: string, kept: Kept): void {
    this.#kept.delete(name);
    this.#kept.set(name, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MAX_DOCUMENTS && oldest !== undefined) this.#kept.delete(oldest);
  }
}

function conditionsOf(kept: Kept | undefined): Readonly<Record<string, string>> {
  const { etag, "last-modified": date } = kept?.document.headers ?? {};
  return {
    ...(etag !== undefined && { "If-None-Match": etag }),
    ...(date !== undefined && { "If-Modified-Since": date }),
  };
}

type Headers = Readonly<Record<string, string>>;

/** What the headers of an answer say of keeping it (RFC 9111), for a cache of one caller's own. */
interface Freshness {
  readonly mayStore: boolean;
  /** When it must be asked for again, in milliseconds since 1970. */
  readonly freshUntilMs: number;
}

/**
 * Without a word of the server nothing is fresh: a card that is asked for again
 * costs one short request, and a wrong one leads to the wrong place.
 */
function freshnessOf(headers: Headers, nowMs: number): Freshness {
  const directives = directivesOf(headers["cache-control"] ?? "");
  const isVague = (headers["vary"] ?? "").trim() === "*";
  if (directives.has("no-store") || isVague) return { mayStore: false, freshUntilMs: 0 };
  if (directives.has("no-cache")) return { mayStore: true, freshUntilMs: 0 };
  const ageMs = (Number(headers["age"]) || 0) * 1000;
  return { mayStore: true, freshUntilMs: nowMs + lifetimeMs(directives, headers) - ageMs };
}

/** `max-age` counts before `Expires` (RFC 9111 §4.2.1); `s-maxage` is for shared caches. */
function lifetimeMs(directives: ReadonlyMap<string, string>, headers: Headers): number {
  const maxAge = directives.get("max-age");
  // What cannot be read is taken for stale (RFC 9111 §4.2.1).
  if (maxAge !== undefined) return /^\d{1,9}$/.test(maxAge) ? Number(maxAge) * 1000 : 0;
  const expires = Date.parse(headers["expires"] ?? "");
  const date = Date.parse(headers["date"] ?? "");
  return Number.isNaN(expires) || Number.isNaN(date) ? 0 : Math.max(0, expires - date);
}

function directivesOf(text: string): ReadonlyMap<string, string> {
  return new Map(
    text.split(",").map((directive) => {
      const [name = "", value = ""] = directive.split("=", 2);
      return [name.trim().toLowerCase(), value.trim().replaceAll('"', "")];
    }),
  );
}

/** A text on the web: a card, or the keys that it is signed with. */
export interface Document {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** Where it was found, after redirects. */
  readonly url: string;
}

/** Gets a document over the network. */
export type FetchDocument = (
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
) => Promise<Document>;
