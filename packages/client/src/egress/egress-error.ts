/** Why nothing was sent, or no answer came. */
export type EgressReason =
  /** Not an absolute URL, or a header that cannot be sent. */
  | "malformed"
  /** Neither http nor https. */
  | "scheme"
  /** A user name or password in the URL. */
  | "userinfo"
  /** It leads to an address that is not public, and nobody listed it. */
  | "address"
  /** The name is unknown, nobody listens there, or the connection broke. */
  | "network"
  /** It took longer than it may. */
  | "timeout";

/**
 * A request that the egress policy refused or that failed on its way. The text
 * names the host at most: paths and queries of webhooks hold secrets, and the
 * addresses behind a name are nothing that a caller should learn here.
 */
export class EgressError extends Error {
  readonly reason: EgressReason;

  constructor(reason: EgressReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "EgressError";
    this.reason = reason;
  }
}
