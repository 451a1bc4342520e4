import { createFetchClient, type HttpClient } from "@convoke/egress/http";

/** The way out where there is no Node. What a page may reach is the browser's to say. */
export function createOutbound({ fetch }: OutboundOptions): HttpClient {
  return createFetchClient(fetch);
}

/** Where the client may go, and by what. */
export interface OutboundOptions {
  /** URLs that the user of the client gave; their origins may be anywhere. */
  readonly trusted: readonly string[];
  /** What else may be reached although it is not public; see `EgressOptions`. */
  readonly allow?: readonly string[] | undefined;
  /** Goes out by this instead; then no policy but its own holds. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}
