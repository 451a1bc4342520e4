import {
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UrlElicitationRequiredError,
} from "@modelcontextprotocol/client";
import { McpError, type Visit } from "./mcp-error.ts";
import { webUrl } from "../tools/web-url.ts";

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
