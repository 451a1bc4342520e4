import { createEgress } from "@convoke/egress";
import { type HttpClient, createFetchClient } from "@convoke/egress/http";
import { type OutboundOptions, rejectCertificate } from "./fetch-outbound.ts";

/** The HTTP client in Node: through the egress policy. */
export function createOutbound(options: OutboundOptions): HttpClient {
  const { trusted, allow = [], fetch, certificate } = options;
  if (!fetch) return createEgress({ trusted, allow, ...(certificate && { certificate }) });
  rejectCertificate(certificate);
  return createFetchClient(fetch);
}
