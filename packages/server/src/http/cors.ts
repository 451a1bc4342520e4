import { type HttpHeaders, type HttpRequest, type HttpResponse, header } from "./exchange.ts";
import { checkedOrigins } from "./origins.ts";

export interface CorsOptions {
  /** Origins of web pages that may call, as in "https://app.example"; "*" is every page. */
  readonly origins: readonly string[];
}

/** What a page may send besides what every page may. */
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
].join(", ");

/** What a page may read besides what every page may. */
const ANSWER_HEADERS = [
  "a2a-extensions",
  "a2a-version",
  "etag",
  "retry-after",
  "www-authenticate",
  "x-a2a-extensions",
  "x-request-id",
].join(", ");

/** For how long a browser need not ask again, in seconds; Chromium remembers no longer. */
const MAX_AGE = "7200";

/**
 * Lets pages of listed origins call (the CORS protocol of the Fetch standard).
 * Callers show a token that their page holds, so cookies are never asked for
 * and `Access-Control-Allow-Credentials` is never sent.
 */
export class Cors {
  readonly allowsEveryone: boolean;
  readonly #origins: ReadonlySet<string>;

  constructor(options: CorsOptions = { origins: [] }) {
    this.#origins = new Set(checkedOrigins(options.origins));
    this.allowsEveryone = this.#origins.has("*");
  }

  allows(origin: string): boolean {
    return this.allowsEveryone || this.#origins.has(origin);
  }

  /** The answer to a browser that asks whether its page may call; nothing for a page that may not. */
  preflight(request: HttpRequest): HttpResponse | undefined {
    if (!this.allows(header(request, "origin") ?? "")) return undefined;
    return { status: 204, headers: PERMISSION, body: "" };
  }

  /** The answer with what lets the page read it. */
  dress(answer: HttpResponse, request: HttpRequest): HttpResponse {
    // What is open to every page says so itself.
    if (this.#origins.size === 0 || ALLOW_ORIGIN in answer.headers) return answer;
    const headers = { ...answer.headers, ...this.#headersFor(header(request, "origin")) };
    if (this.allowsEveryone) return { ...answer, headers };
    // Whoever keeps the answer must not show it to a page of another origin.
    const { vary } = answer.headers;
    return { ...answer, headers: { ...headers, vary: vary ? `${vary}, Origin` : "Origin" } };
  }

  #headersFor(origin: string | undefined): HttpHeaders {
    if (origin === undefined || !this.allows(origin)) return {};
    return {
      [ALLOW_ORIGIN]: this.allowsEveryone ? "*" : origin,
      "access-control-expose-headers": ANSWER_HEADERS,
    };
  }
}

const ALLOW_ORIGIN = "access-control-allow-origin";

const PERMISSION: HttpHeaders = {
  "access-control-allow-methods": "GET, POST, DELETE",
  "access-control-allow-headers": REQUEST_HEADERS,
  "access-control-max-age": MAX_AGE,
};

/** For what everyone may read: a header such as A2A-Version makes a browser ask for it as well. */
export const PUBLIC_PREFLIGHT: HttpResponse = {
  status: 204,
  headers: { ...PERMISSION, [ALLOW_ORIGIN]: "*", "access-control-allow-methods": "GET" },
  body: "",
};

/** Whether a browser asks if its page may send a request. */
export function isPreflight(request: HttpRequest): boolean {
  return (
    request.method === "OPTIONS" &&
    header(request, "origin") !== undefined &&
    header(request, "access-control-request-method") !== undefined
  );
}
