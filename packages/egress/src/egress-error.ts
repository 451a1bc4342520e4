import { ClientError } from "@convoke/protocol";

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

export interface EgressErrorOptions extends ErrorOptions {
  /** False when the other side certainly got no whole request. */
  readonly sent?: boolean | undefined;
}

/**
 * A request that the egress policy refused (`kind` is "refused") or that failed
 * on its way ("unreachable"). The text names the origin at most: paths and
 * queries of webhooks hold secrets, and the addresses behind a name are nothing
 * that a caller should learn here.
 */
export class EgressError extends ClientError {
  readonly reason: EgressReason;

  constructor(reason: EgressReason, message: string, options: EgressErrorOptions = {}) {
    const isOnItsWay = reason === "network" || reason === "timeout";
    const kind = isOnItsWay ? "unreachable" : "refused";
    super(kind, message, { ...options, sent: isOnItsWay ? options.sent : false });
    this.name = "EgressError";
    this.reason = reason;
  }
}
