import { createFetchClient, type HttpClient } from "@convoke/egress/http";
import type { OutboundOptions } from "./outbound-options.ts";

/** The way out where there is no Node. What a page may reach is the browser's to say. */
export function createOutbound({ fetch }: OutboundOptions): HttpClient {
  return createFetchClient(fetch);
}
