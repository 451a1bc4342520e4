import type { ErrorReason } from "../errors.ts";

/** What went wrong, for programs. */
export type ClientErrorKind =
  /** No connection, or it was lost. */
  | "unreachable"
  /** The egress policy lets nothing go there. */
  | "refused"
  /** The address shows no agent card. */
  | "no-card"
  /** The signatures of the card do not hold, or there is none where one is demanded. */
  | "bad-signature"
  /** The card offers nothing that this client speaks. */
  | "no-interface"
  /** The card leads to an origin that the credentials were not given for. */
  | "other-origin"
  /** The agent's answer is not A2A. */
  | "unreadable"
  /** The agent's version has no such operation. */
  | "unsupported";

export interface ClientErrorOptions extends ErrorOptions {
  readonly sent?: boolean | undefined;
}

/** There is no answer to speak of: the agent cannot be found, reached or understood. */
export class ClientError extends Error {
  readonly kind: ClientErrorKind;
  /** False when the agent certainly got nothing of the request; undefined when nobody can tell. */
  readonly sent: boolean | undefined;

  constructor(kind: ClientErrorKind, message: string, options: ClientErrorOptions = {}) {
    const { sent, ...rest } = options;
    super(message, rest);
    this.name = "ClientError";
    this.kind = kind;
    this.sent = sent;
  }
}

export interface RemoteErrorOptions {
  readonly httpStatus: number;
  readonly code?: number | undefined;
  readonly reason?: ErrorReason | undefined;
  readonly data?: unknown;
  readonly retryAfterMs?: number | undefined;
}

/**
 * The agent answered with an error. Its own words, code and data are kept, and
 * they are the same whichever binding it came by.
 */
export class RemoteError extends Error {
  /** The JSON-RPC code; none when something before the agent answered, such as a proxy. */
  readonly code: number | undefined;
  /** What kind of error it is, where that can be told. Several kinds share a code. */
  readonly reason: ErrorReason | undefined;
  readonly data: unknown;
  /** On gRPC the status that HTTP has for the same error. */
  readonly httpStatus: number;
  /** How long the agent asks to wait before another try. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: RemoteErrorOptions) {
    super(message);
    this.name = "RemoteError";
    this.code = options.code;
    this.reason = options.reason;
    this.data = options.data;
    this.httpStatus = options.httpStatus;
    this.retryAfterMs = options.retryAfterMs;
  }
}
