import type { Challenge } from "./sign-in.ts";
import {
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UrlElicitationRequiredError,
} from "@modelcontextprotocol/client";
import { webUrl } from "../tools/interrupts.ts";

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
  /** The user must sign in first. */
  | "sign-in"
  /** The user must visit a page first. */
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

const MAX_SAID = 4000;

/** What the MCP client throws, in our words. */
export function translateError(error: unknown): McpError {
  if (error instanceof McpError) return error;
  if (error instanceof UrlElicitationRequiredError) {
    const visits = error.elicitations.flatMap(({ url, message }): readonly Visit[] => {
      const address = webUrl(url);
      return address === undefined ? [] : [{ url: address, prompt: message }];
    });
    return new McpError("visit", "somebody must go to a page first", { cause: error, visits });
  }
  if (error instanceof SdkHttpError) {
    const message = `it answered with HTTP ${error.status}`;
    return new McpError("refused", message, { cause: error });
  }
  if (error instanceof ProtocolError) {
    const message = `it answered with error ${error.code}`;
    return new McpError("refused", message, {
      cause: error,
      said: error.message.slice(0, MAX_SAID),
    });
  }
  if (error instanceof SdkError) return sdkError(error);
  return new McpError("unreadable", "its answer makes no sense", { cause: error });
}

function sdkError(cause: SdkError): McpError {
  if (cause.code === SdkErrorCode.ConnectionClosed || cause.code === SdkErrorCode.NotConnected) {
    return new McpError("gone", "the connection to it ended", { cause });
  }
  if (cause.code === SdkErrorCode.RequestTimeout) {
    return new McpError("unanswered", "it did not answer in time", { cause });
  }
  return new McpError("unreadable", "its answer makes no sense", { cause });
}
