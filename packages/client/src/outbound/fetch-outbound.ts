import { type HttpClient, createFetchClient } from "@convoke/egress/http";

/** The HTTP client outside Node: the browser decides what a page may reach. */
export function createOutbound({ fetch, certificate }: OutboundOptions): HttpClient {
  rejectCertificate(certificate);
  return createFetchClient(fetch);
}

/** A `fetch` cannot present a certificate that it is given; browsers choose one themselves. */
export function rejectCertificate(certificate: BoundCertificate | undefined): void {
  if (certificate === undefined) return;
  throw new TypeError("certificate is available in Node only, and not together with fetch");
}

/** What the client may reach, and how. */
export interface OutboundOptions {
  /** URLs that the user gave; their origins may resolve to any address. */
  readonly trusted: readonly string[];
  /** Further non-public destinations that may be reached; see `EgressOptions`. */
  readonly allow?: readonly string[] | undefined;
  readonly certificate?: BoundCertificate | undefined;
  /** Used instead; then no egress policy applies. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** A client certificate for mutual TLS, in PEM. */
export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
  /** The password of `key`, if it is encrypted. */
  readonly passphrase?: string | undefined;
  /** Authorities that may have signed the certificate of the server. Default: those of Node. */
  readonly ca?: string | undefined;
}

interface BoundCertificate extends ClientCertificate {
  /** The origins that it is presented to. */
  readonly origins: readonly string[];
}
