import { ClientError } from "@convoke/protocol";

/** Why nothing was sent, or no response arrived. */
export type EgressReason =
  /** Not an absolute URL, or a header that cannot be sent. */
  | "malformed"
  /** Neither http nor https. */
  | "scheme"
  /** A user name or password in the URL. */
  | "userinfo"
  /** The address is not public and not on the allow list. */
  | "address"
  /** The name does not exist, nothing is listening, or the connection broke. */
  | "network"
  /** A time limit expired. */
  | "timeout";

export interface EgressErrorOptions extends ErrorOptions {
  /** False if the server certainly did not receive a complete request. */
  readonly sent?: boolean | undefined;
}

/**
 * A request that the egress policy rejected (`kind` is "refused") or that failed on the network
 * ("unreachable"). The message names at most the origin: paths and queries of webhooks hold secrets,
 * and callers must not learn which addresses a name resolves to.
 */
export class EgressError extends ClientError {
  readonly reason: EgressReason;

  constructor(reason: EgressReason, message: string, options: EgressErrorOptions = {}) {
    const isNetwork = reason === "network" || reason === "timeout";
    const kind = isNetwork ? "unreachable" : "refused";
    super(kind, message, { ...options, sent: isNetwork ? options.sent : false });
    this.name = "EgressError";
    this.reason = reason;
  }

  /**
   * Whether the error tells which names exist, or which addresses they have, in the network of this
   * machine. A caller that has chosen the URL must not see it.
   */
  get revealsNames(): boolean {
    return this.reason === "address" || NAME_ERRORS.has(errorCode(this.cause));
  }
}

const NAME_ERRORS: ReadonlySet<string | undefined> = new Set(["ENOTFOUND", "ENODATA", "EAI_AGAIN"]);

const NOT_TLS = "it does not speak TLS; try http:// instead of https://";

/** Error codes of Node and OpenSSL, explained. */
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "its certificate has expired",
  CERT_NOT_YET_VALID: "its certificate is not valid yet",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is self-signed",
  EAI_AGAIN: "its name could not be resolved just now",
  ECONNREFUSED: "nothing is listening there",
  ECONNRESET: "the connection was closed",
  EHOSTUNREACH: "there is no route to it",
  ENETUNREACH: "there is no route to it",
  ENOTFOUND: "its name does not exist",
  EPIPE: "the connection was closed",
  EPROTO: "the TLS handshake failed",
  ERR_HTTP2_ERROR: "it does not speak HTTP/2",
  ERR_SSL_WRONG_VERSION_NUMBER: NOT_TLS,
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: "it does not speak HTTP/2",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another name",
  ETIMEDOUT: "it did not answer in time",
  HPE_HEADER_OVERFLOW: "its headers are too large",
  SELF_SIGNED_CERT_IN_CHAIN:
    "its certificate is not signed by an authority that this machine trusts",
  UNABLE_TO_GET_ISSUER_CERT:
    "its certificate is not signed by an authority that this machine trusts",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    "its certificate is not signed by an authority that this machine trusts",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "its certificate is not signed by an authority that this machine trusts",
};

/** Describes a failure by its code: the message of the error may reveal too much. */
export function describeProblem(error: unknown): string {
  const code = errorCode(error);
  if (code === undefined) return "unknown error";
  // What OpenSSL says about the first bytes of a server that answers in plain text.
  const isPlain = code === "EPROTO" && /wrong version number/.test((error as Error).message);
  const text = isPlain ? NOT_TLS : (DESCRIPTIONS[code] ?? descriptionOfFamily(code));
  return text === undefined ? code : `${text} (${code})`;
}

/** The code of an error, such as ECONNREFUSED. */
export function errorCode(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === "string" ? code : undefined;
}

function descriptionOfFamily(code: string): string | undefined {
  if (code.startsWith("HPE_")) return "what it sent is not HTTP";
  return code.startsWith("ERR_SSL_") ? DESCRIPTIONS["EPROTO"] : undefined;
}
