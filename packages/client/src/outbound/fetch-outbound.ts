import { type HttpClient, createFetchClient } from "@convoke/egress/http";

/** The HTTP client outside Node: the browser decides what a page may reach. */
export function createOutbound({ fetch }: OutboundOptions): HttpClient {
  return createFetchClient(fetch);
}

/** What the client may reach, and how. */
export interface OutboundOptions {
  /** URLs that the user gave; their origins may resolve to any address. */
  readonly trusted: readonly string[];
  /** Further non-public destinations that may be reached; see `EgressOptions`. */
  readonly allow?: readonly string[] | undefined;
  /** Used instead; then no egress policy applies. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}
