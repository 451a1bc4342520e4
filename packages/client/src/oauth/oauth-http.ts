import { type HttpClient, readText } from "@convoke/egress/http";
import { ClientError } from "@convoke/protocol";
import { isLoopbackHost, timeoutSignal } from "@convoke/protocol/internal";

/** Metadata and tokens are small. */
const MAX_BYTES = 256 * 1024;

export const TIMEOUT_MS = 30_000;

export interface OAuthHttpOptions {
  readonly client: HttpClient;
  /** URLs that the user gave: their origins may be used without TLS. */
  readonly given: readonly string[];
}

export interface FetchOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: URLSearchParams | string | undefined;
}

/**
 * Requests to an issuer, through the HTTP client of the connection: the egress policy applies, because
 * the URLs come from a card. Redirects are not followed.
 */
export class OAuthHttp {
  readonly #client: HttpClient;
  readonly #given: ReadonlySet<string>;

  constructor({ client, given }: OAuthHttpOptions) {
    this.#client = client;
    this.#given = new Set(given.map((url) => new URL(url).origin));
  }

  async fetch(url: string, { method, headers, body }: FetchOptions = {}): Promise<Response> {
    this.checkSecure(url);
    const signal = timeoutSignal(TIMEOUT_MS);
    const isForm = body instanceof URLSearchParams;
    const answer = await this.#client.request({
      url,
      method: method === "POST" ? "POST" : "GET",
      headers: {
        ...headers,
        ...(isForm && { "content-type": "application/x-www-form-urlencoded;charset=UTF-8" }),
      },
      ...(body !== undefined && { body: String(body) }),
      redirects: "answer",
      signal,
    });
    const text = await readText(answer, signal, MAX_BYTES);
    const { status, headers: answered } = answer;
    return new Response(text === "" ? null : text, { status, headers: answered });
  }

  /** Tokens and codes must not pass the network in clear text, except within this machine. */
  checkSecure(text: string): void {
    const { protocol, hostname, origin } = new URL(text);
    if (protocol === "https:") return;
    const isNear = isLoopbackHost(hostname) || this.#given.has(origin);
    if (protocol === "http:" && isNear) return;
    throw signInError(`${origin} does not use https, so no token is requested there`);
  }
}

export function signInError(message: string): ClientError {
  return new ClientError("sign-in", message);
}
