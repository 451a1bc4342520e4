/**
 * The way out for URLs that come from the network: push targets, other agents'
 * cards, whatever a caller or a model wrote. It reaches public addresses only,
 * and what the operator listed.
 */
export interface Egress {
  /**
   * Refuses with an `EgressError` what can be told without asking DNS, so that
   * a bad URL is answered when it is given and not when it is first used.
   * A URL that passes is not safe yet: only `post` knows where its name leads.
   */
  check(url: string): URL;

  /** Sends one request and reads the answer. A redirect is an answer like any other. */
  post(url: string, request: EgressRequest): Promise<EgressResponse>;
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
