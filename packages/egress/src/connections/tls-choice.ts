/** A client certificate for mutual TLS, in PEM. */
export interface EgressCertificate {
  /** The origins that it is presented to, such as `https://agent.example`. */
  readonly origins: readonly string[];
  readonly cert: string;
  readonly key: string;
  /** The password of `key`, if it is encrypted. */
  readonly passphrase?: string | undefined;
  /** Authorities that may have signed the certificate of the server. Default: those of Node. */
  readonly ca?: string | undefined;
}

/** The TLS options for a connection to the URL. */
export type TlsChoice = (url: URL) => Readonly<Record<string, string>>;

/** Connections to any other origin are made without the certificate. */
export function createTlsChoice(certificate: EgressCertificate | undefined): TlsChoice {
  if (certificate === undefined) return () => ({});
  const { origins, cert, key, passphrase, ca } = certificate;
  const known = new Set(origins.map((url) => new URL(url).origin));
  const options = { cert, key, ...(passphrase && { passphrase }), ...(ca && { ca }) };
  return ({ origin }) => (known.has(origin) ? options : {});
}
