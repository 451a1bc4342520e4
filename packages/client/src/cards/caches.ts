import { DocumentCache } from "./document-cache.ts";

type Fetch = typeof globalThis.fetch;

const OWN = new DocumentCache();
const OTHERS = new WeakMap<Fetch, DocumentCache>();

/** The cards of this process. What another `fetch` brought is seen by that one alone. */
export function cacheFor(fetch: Fetch | undefined): DocumentCache {
  if (fetch === undefined) return OWN;
  const known = OTHERS.get(fetch);
  if (known !== undefined) return known;
  const cache = new DocumentCache();
  OTHERS.set(fetch, cache);
  return cache;
}
