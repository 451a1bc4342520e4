import { type HttpHeaders, type HttpRequest, type HttpResponse, header } from "./exchange.ts";

export interface CorsOptions {
  /** Origins of web pages that may call the agent, such as "https://app.example", or "*" for every page. */
  readonly origins: readonly string[];
}

/** Response headers that pages may read, in addition to the safelisted ones. */
const RESPONSE_HEADERS = [
  "a2a-extensions",
  "a2a-version",
  "etag",
  "retry-after",
  "www-authenticate",
  "x-a2a-extensions",
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-ratelimit-reset",
  "x-request-id",
].join(", ");

/**
 * Allows pages of listed origins to call the agent (the CORS protocol of the Fetch
 * standard). Pages authenticate with a token, never with cookies, so
 * `Access-Control-Allow-Credentials` is never sent.
 */
export class Cors {
  readonly allowsEveryone: boolean;
  readonly #origins: ReadonlySet<string>;

  constructor(options: CorsOptions = { origins: [] }) {
    this.#origins = new Set(normalizeOrigins(options.origins));
    this.allowsEveryone = this.#origins.has("*");
  }

  allows(origin: string): boolean {
    return this.allowsEveryone || this.#origins.has(origin);
  }

  /** The response to a preflight request; `undefined` if the page must not call. */
  preflight(request: HttpRequest): HttpResponse | undefined {
    if (!this.allows(header(request, "origin") ?? "")) return undefined;
    return { status: 204, headers: PERMISSION, body: "" };
  }

  /** Adds the headers that allow the page to read the response. */
  addHeaders(response: HttpResponse, request: HttpRequest): HttpResponse {
    // Public responses have their own header.
    if (this.#origins.size === 0 || ALLOW_ORIGIN in response.headers) return response;
    const headers = { ...response.headers, ...this.#headersFor(header(request, "origin")) };
    if (this.allowsEveryone) return { ...response, headers };
    // A cache must not use the response for a page of another origin.
    const { vary } = response.headers;
    return { ...response, headers: { ...headers, vary: vary ? `${vary}, Origin` : "Origin" } };
  }

  #headersFor(origin: string | undefined): HttpHeaders {
    if (origin === undefined || !this.allows(origin)) return {};
    return {
      [ALLOW_ORIGIN]: this.allowsEveryone ? "*" : origin,
      "access-control-expose-headers": RESPONSE_HEADERS,
    };
  }
}

const ALLOW_ORIGIN = "access-control-allow-origin";

/** How long a browser may cache the preflight response, in seconds: the maximum of Chromium. */
const MAX_AGE = "7200";

/** Request headers that pages may send, in addition to the safelisted ones. */
const REQUEST_HEADERS = [
  "a2a-extensions",
  "a2a-version",
  "authorization",
  "content-type",
  "if-modified-since",
  "if-none-match",
  "last-event-id",
  "traceparent",
  "tracestate",
  "x-a2a-extensions",
  "x-api-key",
  "x-request-id",
].join(", ");

const PERMISSION: HttpHeaders = {
  "access-control-allow-methods": "GET, POST, DELETE",
  "access-control-allow-headers": REQUEST_HEADERS,
  "access-control-max-age": MAX_AGE,
};

/** The preflight response for public paths, which browsers request because of headers such as A2A-Version. */
export const PUBLIC_PREFLIGHT: HttpResponse = {
  status: 204,
  headers: { ...PERMISSION, [ALLOW_ORIGIN]: "*", "access-control-allow-methods": "GET" },
  body: "",
};

/** Whether the request is a CORS preflight. */
export function isPreflight(request: HttpRequest): boolean {
  return (
    request.method === "OPTIONS" &&
    header(request, "origin") !== undefined &&
    header(request, "access-control-request-method") !== undefined
  );
}

/** Any scheme is allowed, because desktop and mobile apps have their own. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s*]+$/;

/** Normalizes origins to the form that browsers send. Throws for an invalid origin, so that mistakes are found at startup. */
export function normalizeOrigins(origins: readonly string[]): readonly string[] {
  return origins.map((given) => {
    const origin = given.trim().toLowerCase();
    if (origin === "*") return origin;
    if (!ORIGIN.test(origin) || !URL.canParse(origin)) throw notAnOrigin(given);
    // Browsers leave out default ports and send host names in ASCII.
    return /^https?:/.test(origin) ? new URL(origin).origin : origin;
  });
}

function notAnOrigin(given: string): TypeError {
  const { origin } = URL.canParse(given) ? new URL(given) : { origin: "null" };
  const hint = origin === "null" ? '"https://app.example" or "*"' : JSON.stringify(origin);
  return new TypeError(
    `${JSON.stringify(given)} is not the origin of a web page, as in ${hint} (cors.origins)`,
  );
}
