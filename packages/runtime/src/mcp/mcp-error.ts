import type { Challenge } from "./sign-in.ts";
import {
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UrlElicitationRequiredError,
} from "@modelcontextprotocol/client";
import { webUrl } from "../tools/interrupts.ts";

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

const MAX_SAID = 4000;

/** Converts an error thrown by the MCP client to an `McpError`. */
export function translateError(error: unknown): McpError {
  if (error instanceof McpError) return error;
  if (error instanceof UrlElicitationRequiredError) {
    const visits = error.elicitations.flatMap(({ url, message }): readonly Visit[] => {
      const address = webUrl(url);
      return address === undefined ? [] : [{ url: address, prompt: message }];
    });
    return new McpError("visit", "the user must visit a page first", { cause: error, visits });
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
