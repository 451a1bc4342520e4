import { SharedWork } from "./shared-work.ts";

interface Kept {
  readonly document: Document;
  readonly freshUntilMs: number;
}

export interface ReadDocument {
  readonly url: string;
  /** Identifies the caller: documents of one caller are not visible to another. */
  readonly key: string;
  readonly fetch: FetchDocument;
  readonly signal?: AbortSignal | undefined;
}

/** About as many agents as one program calls. */
const MAX_DOCUMENTS = 256;

/**
 * An in-memory HTTP cache (RFC 9111) that revalidates by tag or date. Concurrent reads of the same
 * document share one request.
 */
export class DocumentCache {
  /** Least recently used first. */
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
    const onEnd = () => {
      if (this.#reading.get(name) === reading) this.#reading.delete(name);
    };
    reading.onEnd(onEnd);
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
    const answer = await fetch(url, revalidationHeaders(kept), stop);
    const isUnchanged = answer.status === 304 && kept !== undefined;
    // New headers replace stored ones; those that a 304 omits stay (RFC 9111 §4.3.4).
    const document = isUnchanged
      ? { ...kept.document, headers: { ...kept.document.headers, ...answer.headers } }
      : answer;
    const { mayStore, freshUntilMs } = parseFreshness(document.headers, Date.now());
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

function revalidationHeaders(kept: Kept | undefined): Readonly<Record<string, string>> {
  const { etag, "last-modified": date } = kept?.document.headers ?? {};
  return {
    ...(etag !== undefined && { "If-None-Match": etag }),
    ...(date !== undefined && { "If-Modified-Since": date }),
  };
}

type Headers = Readonly<Record<string, string>>;

/** How long a response may be cached (RFC 9111), for a private cache. */
interface Freshness {
  readonly mayStore: boolean;
  /** When it must be revalidated, in milliseconds since 1970. */
  readonly freshUntilMs: number;
}

/**
 * Without explicit headers nothing is fresh: revalidating a card costs one short request, and an
 * outdated one leads to the wrong address.
 */
function parseFreshness(headers: Headers, nowMs: number): Freshness {
  const directives = parseDirectives(headers["cache-control"] ?? "");
  const variesOnEverything = (headers["vary"] ?? "").trim() === "*";
  if (directives.has("no-store") || variesOnEverything) return { mayStore: false, freshUntilMs: 0 };
  if (directives.has("no-cache")) return { mayStore: true, freshUntilMs: 0 };
  const ageMs = (Number(headers["age"]) || 0) * 1000;
  return { mayStore: true, freshUntilMs: nowMs + lifetimeMs(directives, headers) - ageMs };
}

/** `max-age` takes precedence over `Expires` (RFC 9111 §4.2.1); `s-maxage` is for shared caches. */
function lifetimeMs(directives: ReadonlyMap<string, string>, headers: Headers): number {
  const maxAge = directives.get("max-age");
  // An invalid value counts as stale (RFC 9111 §4.2.1).
  if (maxAge !== undefined) return /^\d{1,9}$/.test(maxAge) ? Number(maxAge) * 1000 : 0;
  const expires = Date.parse(headers["expires"] ?? "");
  const date = Date.parse(headers["date"] ?? "");
  return Number.isNaN(expires) || Number.isNaN(date) ? 0 : Math.max(0, expires - date);
}

function parseDirectives(text: string): ReadonlyMap<string, string> {
  return new Map(
    text.split(",").map((directive) => {
      const [name = "", value = ""] = directive.split("=", 2);
      return [name.trim().toLowerCase(), value.trim().replaceAll('"', "")];
    }),
  );
}

/** A document on the web: a card, or the keys of its signatures. */
export interface Document {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** Its URL after redirects. */
  readonly url: string;
}

/** Fetches a document over the network. */
export type FetchDocument = (
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
) => Promise<Document>;
