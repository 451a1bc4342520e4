import { type ServerTokens, signInNeeded } from "./server-tokens.ts";
import type { McpFetch, UrlTarget } from "./mcp-settings.ts";
import { McpError } from "./mcp-error.ts";

export interface ServerFetchOptions {
  readonly fetch: McpFetch;
  readonly maxMessageBytes: number;
  readonly tokens: ServerTokens;
  /** The server is gone, or no longer recognizes the session: pending requests will not be answered. */
  readonly onLost: (error: McpError) => void;
}

/**
 * Creates the fetch for all HTTP requests to a server. The configured headers and tokens are sent
 * only to its origin, redirects are returned to the transport, and responses are checked for signs of
 * a lost connection or session. A request that is rejected with 401 is repeated once with a new token.
 */
export function serverFetch(target: UrlTarget, options: ServerFetchOptions): McpFetch {
  return async (address, init = {}) => {
    const url = new URL(address);
    if (url.origin !== target.url.origin) {
      throw new McpError("refused", "it points to another origin, which is not followed");
    }
    const send = (token: string | undefined): Promise<Response> => {
      const headers = headersOf(target, init, token);
      return request(url, { ...init, headers, redirect: "manual" }, options);
    };
    const response = await sendWithToken(options.tokens, send);
    const hasSession = new Headers(init.headers).has("mcp-session-id");
    const isCall = init.method === "POST";
    return checked(response, { hasSession, isCall, signal: init.signal ?? undefined }, options);
  };
}

/** Sends a request with the current token, and after a 401 once more with a new one. */
async function sendWithToken(
  tokens: ServerTokens,
  send: (token: string | undefined) => Promise<Response>,
): Promise<Response> {
  const token = await tokens.current();
  const response = await send(token);
  if (response.status !== 401) return response;
  const asks = challengeOf(response);
  const renewed = await tokens.renewed({ asks, token });
  if (renewed === undefined) throw signInNeeded(asks);
  const repeated = await send(renewed);
  if (repeated.status !== 401) return repeated;
  throw signInNeeded(challengeOf(repeated));
}

/** What a 401 asks for. Its body is not needed. */
function challengeOf({ headers, body }: Response): string {
  void body?.cancel().catch(() => undefined);
  return headers.get("www-authenticate") ?? "";
}

function headersOf(
  { headers: own }: UrlTarget,
  init: RequestInit,
  token: string | undefined,
): Headers {
  const headers = new Headers(own);
  if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
  // Set last, because the protocol does not work if its own headers are overridden.
  new Headers(init.headers).forEach((value, name) => headers.set(name, value));
  return headers;
}

/** Error codes of failures that occur before anything was sent. */
const NOT_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);

async function request(
  url: URL,
  init: RequestInit,
  { fetch, onLost }: ServerFetchOptions,
): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (cause) {
    if (init.signal?.aborted === true) throw cause;
    const code = codeOf(cause);
    const isSent = !NOT_SENT.has(code ?? "");
    const why = isSent ? "the request to it failed" : "it could not be reached";
    const message = code === undefined ? why : `${why} (${code})`;
    const error = new McpError(isSent ? "gone" : "unreachable", message, { cause });
    onLost(error);
    throw error;
  }
}

async function checked(
  response: Response,
  {
    hasSession,
    isCall,
    signal,
  }: {
    readonly hasSession: boolean;
    readonly isCall: boolean;
    readonly signal: AbortSignal | undefined;
  },
  { maxMessageBytes, onLost }: ServerFetchOptions,
): Promise<Response> {
  const { status, statusText, headers } = response;
  const type = headers.get("content-type") ?? "";
  const lose = (error: McpError): McpError => {
    onLost(error);
    return error;
  };
  const body =
    response.body &&
    boundedBody(response.body, {
      isEventStream: type.startsWith("text/event-stream"),
      maxBytes: maxMessageBytes,
      signal,
      onTooLong: () =>
        lose(new McpError("gone", `it sent more than ${maxMessageBytes} bytes in one message`)),
      // A stream that only carries notifications is reopened by the transport.
      onBroken: () => isCall && lose(new McpError("gone", "the connection to it broke")),
    });
  if (!hasSession || (status !== 404 && status !== 400)) {
    return body === null ? response : new Response(body, { status, statusText, headers });
  }
  // The specification requires 404, but many servers answer 400 with a text about a missing
  // session.
  const text = await new Response(body).text();
  if (status === 404 || /session/i.test(text)) {
    throw lose(new McpError("session-gone", "it no longer recognizes the session"));
  }
  return new Response(text, { status, statusText, headers });
}

/** `fetch` reports the reason for a failure only in the error's cause. */
function codeOf(error: unknown): string | undefined {
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown };
  if (typeof code === "string") return code;
  return cause instanceof Error ? codeOf(cause) : undefined;
}

interface BoundedBodyOptions {
  /**
   * For an event stream, the limit applies to each event, because the stream itself may run
   * indefinitely.
   */
  readonly isEventStream: boolean;
  readonly maxBytes: number;
  /** Creates the error for a response that exceeds the limit. */
  readonly onTooLong: () => Error;
  /** Fires when the request is aborted. */
  readonly signal: AbortSignal | undefined;
  /** Called when the connection broke and the events have no ids to resume from. */
  readonly onBroken: () => void;
}

const RETURN = 13;

const NEWLINE = 10;

/** Wraps a response body with a size limit. */
function boundedBody(
  body: ReadableStream<Uint8Array>,
  { isEventStream, maxBytes, signal, onTooLong, onBroken }: BoundedBodyOptions,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let size = 0;
  let isLineEmpty = true;
  let hasIds = false;
  const count = (chunk: Uint8Array): void => {
    if (!isEventStream) {
      size += chunk.length;
      return;
    }
    hasIds ||= /(^|\n)id:/.test(
      Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length).toString("latin1"),
    );
    for (const byte of chunk) {
      size += 1;
      if (byte === NEWLINE) {
        // An empty line ends an event.
        if (isLineEmpty) size = 0;
        isLineEmpty = true;
      } else if (byte !== RETURN) isLineEmpty = false;
      if (size > maxBytes) return;
    }
  };
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        count(value);
        if (size <= maxBytes) return controller.enqueue(value);
        void reader.cancel().catch(() => undefined);
        return controller.error(onTooLong());
      } catch (error) {
        if (signal?.aborted !== true && isEventStream && !hasIds) onBroken();
        return controller.error(error);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
