import { createEgress } from "@convoke/egress";
import { type HttpClient, createFetchClient } from "@convoke/egress/http";
import type { OutboundOptions } from "./fetch-outbound.ts";

/** The HTTP client in Node: through the egress policy. */
export function createOutbound({ trusted, allow = [], fetch }: OutboundOptions): HttpClient {
  return fetch ? createFetchClient(fetch) : createEgress({ trusted, allow });
}
