type Headers = Readonly<Record<string, string>>;

/** What the headers of an answer say of keeping it (RFC 9111), for a cache of one caller's own. */
export interface Freshness {
  readonly mayStore: boolean;
  /** When it must be asked for again, in milliseconds since 1970. */
  readonly freshUntilMs: number;
}

/**
 * Without a word of the server nothing is fresh: a card that is asked for again
 * costs one short request, and a wrong one leads to the wrong place.
 */
export function freshnessOf(headers: Headers, nowMs: number): Freshness {
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
