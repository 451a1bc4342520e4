/** What went wrong, for programs. */
export type ClientErrorKind =
  /** No connection, or it was lost. */
  | "unreachable"
  /** The address shows no agent card. */
  | "no-card"
  /** The card offers nothing that this client speaks. */
  | "no-interface"
  /** The card leads to an origin that the token was not given for. */
  | "other-origin"
  /** The agent's answer is not A2A. */
  | "unreadable"
  /** The agent's version has no such operation. */
  | "unsupported";

/** There is no answer to speak of: the agent cannot be found, reached or understood. */
export class ClientError extends Error {
  readonly kind: ClientErrorKind;

  constructor(kind: ClientErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ClientError";
    this.kind = kind;
  }
}

export interface RemoteErrorOptions {
  readonly httpStatus: number;
  readonly code?: number | undefined;
  readonly data?: unknown;
}

/** The agent answered with an error. Its own words, code and data are kept. */
export class RemoteError extends Error {
  /** The JSON-RPC code; none when something before the agent answered, such as a proxy. */
  readonly code: number | undefined;
  readonly data: unknown;
  readonly httpStatus: number;

  constructor(message: string, { httpStatus, code, data }: RemoteErrorOptions) {
    super(message);
    this.name = "RemoteError";
    this.code = code;
    this.data = data;
    this.httpStatus = httpStatus;
  }
}
