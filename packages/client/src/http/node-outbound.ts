import { createEgress } from "../egress/create-egress.ts";
import { createFetchClient } from "./fetch-client.ts";
import type { HttpClient } from "./http-client.ts";
import type { OutboundOptions } from "./outbound-options.ts";

/** The way out where there is Node: by the egress policy. */
export function createOutbound({ trusted, allow = [], fetch }: OutboundOptions): HttpClient {
  return fetch ? createFetchClient(fetch) : createEgress({ trusted, allow });
}
