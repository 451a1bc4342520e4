import type { ClientHttp2Session } from "node:http2";
import type { HttpClient, OpenHttp2Options } from "./http/http-client.ts";

/**
 * The one way out, for everything that this project asks of other machines. It
 * reaches public addresses only, what the operator listed, and origins that
 * were given by people and not by the network.
 */
export interface Egress extends HttpClient {
  /**
   * Refuses with an `EgressError` what can be told without asking DNS, so that
   * a bad URL is answered when it is given and not when it is first used.
   * A URL that passes is not safe yet: only a request knows where its name leads.
   */
  check(url: string): URL;

  /**
   * Sends one request and reads the answer. A redirect is an answer like any
   * other. When a kept connection closes on it, the request may arrive twice.
   */
  post(url: string, request: EgressRequest): Promise<EgressResponse>;

  /**
   * A session of HTTP/2 to the origin of the URL, shared by all who ask for it.
   * Who uses it for later requests asks again: it may have been closed since.
   */
  openHttp2(url: string, options?: OpenHttp2Options): Promise<ClientHttp2Session>;
}

export interface EgressRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** For all of it: finding the address, connecting, sending, reading the answer. */
  readonly timeoutMs: number;
  /** When it aborts, the request rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface EgressResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** At most 64 kB of it; the rest is not read. */
  readonly body: string;
}
