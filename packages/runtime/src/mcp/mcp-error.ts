import type { Challenge } from "./challenge.ts";

/** Somewhere that a person must go first. */
export interface Visit {
  readonly url: string;
  readonly prompt: string;
}

export type McpErrorKind =
  /** It could not be started or reached; nothing was sent. */
  | "unreachable"
  /** It does not know our session any more, so that it did nothing. */
  | "session-gone"
  /** It ended, or the connection broke, while something was under way. */
  | "gone"
  /** It took too long. */
  | "unanswered"
  /** It answers with an error. */
  | "refused"
  /** Somebody must sign in first. */
  | "sign-in"
  /** Somebody must go to a page first. */
  | "visit"
  /** We stopped it. */
  | "stopped"
  /** The answer makes no sense. */
  | "unreadable";

interface McpErrorOptions extends ErrorOptions {
  readonly challenge?: Challenge;
  readonly visits?: readonly Visit[];
  /** What the server itself says. It is for the model, and in no status. */
  readonly said?: string;
}

/** Something went wrong with a server. Its message holds nothing of what the server said or got. */
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

  /** The server did nothing, so that the same may be asked again. */
  get isUntouched(): boolean {
    return this.kind === "unreachable" || this.kind === "session-gone";
  }
}
