import type { ProtocolVersion } from "@convoke/protocol";
import { ClientError } from "./errors.ts";

export interface HttpOptions {
  readonly version: ProtocolVersion;
  /** Sent as a bearer token, and only to `origin`. */
  readonly token?: string | undefined;
  /** The origin of the address that the user gave. */
  readonly origin: string;
  readonly fetch?: typeof globalThis.fetch | undefined;
}

export interface HttpRequest {
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON text; with it the request is a POST. */
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The one place that opens connections and holds credentials. A token is bound
 * to the origin it was given for: whatever a card says, it goes nowhere else.
 */
export class Http {
  readonly #options: HttpOptions;
  readonly #fetch: typeof globalThis.fetch;

  constructor(options: HttpOptions) {
    if (options.token !== undefined && !isToken(options.token)) {
      throw new TypeError("the token holds characters that no token can have");
    }
    this.#options = options;
    this.#fetch = options.fetch ?? ((...call) => globalThis.fetch(...call));
  }

  async request(url: string, { headers, body, signal }: HttpRequest): Promise<Response> {
    const { version, token, origin } = this.#options;
    const mayHaveToken = token !== undefined && new URL(url).origin === origin;
    try {
      return await this.#fetch(url, {
        headers: {
          "A2A-Version": version,
          ...headers,
          ...(body !== undefined && { "Content-Type": "application/json" }),
          ...(mayHaveToken && { Authorization: `Bearer ${token}` }),
        },
        ...(body !== undefined && { method: "POST", body }),
        ...(signal && { signal }),
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw unreachable(`could not reach ${url}`, error);
    }
  }
}

/** Whether a header can carry the token. What cannot, `fetch` would quote in its error. */
export function isToken(token: string): boolean {
  return /^[\u0021-\u007E]+$/.test(token);
}

/** The whole text of an answer. */
export async function readText(
  response: Response,
  url: string,
  signal: AbortSignal | undefined,
): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    signal?.throwIfAborted();
    throw unreachable(`the connection to ${url} was lost`, error);
  }
}

/** `fetch` says only "fetch failed"; the reason is in its causes. */
export function unreachable(what: string, error: unknown): ClientError {
  return new ClientError("unreachable", `${what}: ${deepestMessage(error)}`, { cause: error });
}

function deepestMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // `localhost` is tried by IPv6 and IPv4; the first attempt tells as much as all.
  if (error instanceof AggregateError && error.errors.length > 0) {
    return deepestMessage(error.errors[0]);
  }
  return error.cause instanceof Error ? deepestMessage(error.cause) : error.message;
}
