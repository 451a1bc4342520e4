/** What is known of codes that Node gives, in words for people. */
const WORDS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "its certificate has expired",
  CERT_NOT_YET_VALID: "its certificate is not valid yet",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is signed by itself alone",
  EAI_AGAIN: "its name could not be looked up now",
  ECONNREFUSED: "nobody listens there",
  ECONNRESET: "the connection was closed",
  EHOSTUNREACH: "no way leads there",
  ENETUNREACH: "no way leads there",
  ENOTFOUND: "its name is unknown",
  EPIPE: "the connection was closed",
  EPROTO: "it does not speak TLS as we do",
  ERR_HTTP2_ERROR: "it does not speak HTTP/2",
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: "it does not speak HTTP/2",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another name",
  ETIMEDOUT: "it did not answer in time",
  HPE_HEADER_OVERFLOW: "its headers are too large",
  SELF_SIGNED_CERT_IN_CHAIN: "nobody whom this machine trusts has signed its certificate",
  UNABLE_TO_GET_ISSUER_CERT: "nobody whom this machine trusts has signed its certificate",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "nobody whom this machine trusts has signed its certificate",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "nobody whom this machine trusts has signed its certificate",
};

/** A failure in our own words. The texts of errors are not ours and may tell too much. */
export function describeProblem(error: unknown): string {
  const code = codeOf(error);
  if (code === undefined) return "unknown error";
  const words = WORDS[code] ?? wordsForKind(code);
  return words === undefined ? code : `${words} (${code})`;
}

/** Such as ECONNREFUSED. */
export function codeOf(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === "string" ? code : undefined;
}

function wordsForKind(code: string): string | undefined {
  if (code.startsWith("HPE_")) return "what it sent is not HTTP";
  return code.startsWith("ERR_SSL_") ? WORDS["EPROTO"] : undefined;
}
