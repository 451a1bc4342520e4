import type { Challenge } from "./sign-in.ts";

/** A page that the user must open first. */
export interface Visit {
  readonly url: string;
  readonly prompt: string;
}

export type McpErrorKind =
  /** The server could not be started or reached; nothing was sent. */
  | "unreachable"
  /** The server no longer recognizes the session, so it did nothing. */
  | "session-gone"
  /** The server exited or the connection broke during a request. */
  | "gone"
  /** The server did not answer in time. */
  | "unanswered"
  /** The server answered with an error. */
  | "refused"
  /** The user must sign in first. */
  | "sign-in"
  /** The user must open a page first. */
  | "visit"
  /** We canceled the request. */
  | "stopped"
  /** The answer could not be parsed. */
  | "unreadable";

interface McpErrorOptions extends ErrorOptions {
  readonly challenge?: Challenge;
  readonly visits?: readonly Visit[];
  /** The server's own error text. It is passed to the model and never shown in a status. */
  readonly said?: string;
}

/** An error from an MCP server. Its message contains nothing that the server sent or received. */
export class McpError extends Error {
  override readonly name = "McpError";
  readonly kind: McpErrorKind;
  readonly challenge: Challenge | undefined;
  readonly visits: readonly Visit[];
  readonly said: string | undefined;

  constructor(kind: McpErrorKind, message: string, options: McpErrorOptions = {}) {
    super(message, options);
    this.kind = kind;
    this.challenge = options.challenge;
    this.visits = options.visits ?? [];
    this.said = options.said;
  }

  /** Whether the server certainly did nothing, so that the request can be repeated safely. */
  get isUntouched(): boolean {
    return this.kind === "unreachable" || this.kind === "session-gone";
  }
}
