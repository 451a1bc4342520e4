import type { ClientHttp2Session } from "node:http2";

/** One request. */
export interface HttpCall {
  /** By default POST with a body and GET without. */
  readonly method?: "GET" | "POST" | "DELETE";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** By default redirects of a GET are followed within the origin; "answer" makes them answers too. */
  readonly redirects?: "follow" | "answer";
  /** When it aborts, the request and the reading of its answer reject with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/** The head of an answer is there; its body comes in pieces. */
export interface HttpAnswer {
  readonly status: number;
  readonly statusText: string;
  /** Names in lower case; what came several times is joined by commas. */
  readonly headers: Readonly<Record<string, string>>;
  /** Where the answer came from, after redirects within the origin. */
  readonly url: string;
  /**
   * Can be read once. Leaving the loop closes the connection, or gives it back
   * when all was read. Whoever wants none of it calls `return` on its iterator.
   */
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * The way out over HTTP. In Node it is the egress policy on `node:http`, in a
 * browser `fetch`. It has no time limit for answers: who calls knows whether it
 * waits for a card or follows a task for days.
 */
export interface HttpClient {
  /**
   * Rejects with a `ClientError`: "unreachable" when no answer came, "refused"
   * when the policy lets nothing go there, "other-origin" for a redirect to one.
   * Redirects within the origin are followed for GET; others are answers.
   */
  request(call: HttpCall): Promise<HttpAnswer>;
  /** HTTP/2, which gRPC needs, to the origin of the URL. Browsers have none to give. */
  openHttp2?(url: string, options?: OpenHttp2Options): Promise<ClientHttp2Session>;
  /** Closes connections that are kept for later. */
  close(): void;
}

export interface OpenHttp2Options {
  /** Ends the waiting for the session, not the session. */
  readonly signal?: AbortSignal | undefined;
}
