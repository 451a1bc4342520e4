import type { ClientHttp2Session } from "node:http2";

/** One HTTP request. */
export interface HttpCall {
  /** Default: POST with a body, GET without. */
  readonly method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  /** By default redirects of a GET are followed within its origin; "answer" returns them instead. */
  readonly redirects?: "follow" | "answer";
  /** If it aborts, the request and reading its response reject with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/** An HTTP response: its head has arrived, its body comes in chunks. */
export interface HttpAnswer {
  readonly status: number;
  readonly statusText: string;
  /** Names in lower case; repeated headers are joined with commas. */
  readonly headers: Readonly<Record<string, string>>;
  /** The URL that responded, after redirects within the origin. */
  readonly url: string;
  /**
   * Can be read once. Leaving the loop closes the connection, or returns it to the pool if
   * everything was read. To skip the body, call `return` on its iterator.
   */
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * Sends HTTP requests: through the egress policy on `node:http` in Node, with `fetch` in a browser.
 * It sets no time limit for responses: only the caller knows whether it waits for a card or follows
 * a task for days.
 */
export interface HttpClient {
  /**
   * Rejects with a `ClientError`: "unreachable" if no response arrived, "refused" if the egress
   * policy forbids the destination, "other-origin" for a redirect to another origin. Redirects
   * within the origin are followed for GET and returned for other methods.
   */
  request(call: HttpCall): Promise<HttpAnswer>;
  /** An HTTP/2 session to the origin of the URL, for gRPC. Not available in browsers. */
  openHttp2?(url: string, options?: OpenHttp2Options): Promise<ClientHttp2Session>;
  /** Closes idle connections. */
  close(): void;
}

export interface OpenHttp2Options {
  /** Ends the wait for the session, not the session. */
  readonly signal?: AbortSignal | undefined;
}

/** The method of a call, with the default applied. */
export function effectiveMethod({ method, body }: HttpCall): NonNullable<HttpCall["method"]> {
  return method ?? (body === undefined ? "GET" : "POST");
}
