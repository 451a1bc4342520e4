import { MAX_TIMER_MS } from "@convoke/protocol/internal";
import { followRedirects } from "./http/follow-redirects.ts";
import {
  type HttpAnswer,
  type HttpCall,
  type HttpClient,
  type OpenHttp2Options,
  effectiveMethod,
} from "./http/http-client.ts";
import { checkUrl, createUrlCheck } from "./policy/check-url.ts";
import { createDestinationRule } from "./policy/destination-rule.ts";
import { exchange } from "./connections/exchange.ts";
import { Http2Sessions } from "./connections/http2-sessions.ts";
import { KeptConnections } from "./connections/kept-connections.ts";
import { type EgressCertificate, createTlsChoice } from "./connections/tls-choice.ts";
import { type Resolve, createPinnedLookup, systemResolve } from "./connections/pinned-lookup.ts";
import diagnosticsChannel from "node:diagnostics_channel";
import { validateHeaderName, validateHeaderValue } from "node:http";
import { EgressError, type EgressReason } from "./policy/egress-error.ts";
import type { ClientHttp2Session } from "node:http2";

/**
 * The way out for every outbound request of the project. It reaches public addresses, what the
 * operator listed, and origins that came from the operator rather than from the network.
 */
export interface Egress extends HttpClient {
  /**
   * Throws an `EgressError` for a URL that can be rejected without DNS, so that a bad URL fails when
   * it is configured and not when it is first used. A URL that passes is not safe yet: only a
   * request finds out what its name resolves to.
   */
  check(url: string): URL;

  /**
   * Sends one request and reads the response. Redirects are returned, not followed. If a kept
   * connection closes during the request, the request may arrive twice.
   */
  post(url: string, request: EgressRequest): Promise<EgressResponse>;

  /**
   * An HTTP/2 session to the origin of the URL, shared by all callers. Ask again for each request:
   * the session may have been closed since.
   */
  openHttp2(url: string, options?: OpenHttp2Options): Promise<ClientHttp2Session>;
}

export interface EgressRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Time limit for everything: resolving, connecting, sending, and reading the response. */
  readonly timeoutMs: number;
  /** If it aborts, the request rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface EgressResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** At most the first 64 kB; the rest is not read. */
  readonly body: string;
}

export interface EgressOptions {
  /**
   * Non-public destinations that may be reached: `host`, `host:port`, `*.example.internal` (its
   * subdomains only), an address, or a range such as `10.0.0.0/8`. A listed host may resolve to any
   * address; a listed address may be reached under any name. Default: none.
   */
  readonly allow?: readonly string[];
  /** How the operator extends `allow`, for errors. Default: the option `allow`. */
  readonly setting?: string;
  /**
   * URLs that the operator gave in code, configuration or on the command line. Their origins may
   * resolve to any address. Never pass a URL from a card, a response or a caller.
   */
  readonly trusted?: readonly string[];
  /** A client certificate, and the origins that it is presented to. No other origin sees it. */
  readonly certificate?: EgressCertificate;
  /** Time limit for opening a connection, in milliseconds; default 10 s. */
  readonly connectTimeoutMs?: number;
  /** Resolves a name; default: the operating system. */
  readonly resolve?: Resolve;
}

/** Longer than any sane handshake; a firewall that drops packets gives no answer at all. */
const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Creates the egress policy. Each connection resolves its host, checks every address, and connects
 * only to those. Later requests to the same origin may reuse the connection: it leads to an address
 * that was checked.
 */
export function createEgress(options: EgressOptions = {}): Egress {
  const mayReach = createDestinationRule(options.allow ?? [], options);
  const checkedUrl = createUrlCheck(mayReach);
  const connections = new KeptConnections();
  const way = {
    connections,
    lookup: createPinnedLookup(options.resolve ?? systemResolve, mayReach),
    tlsFor: createTlsChoice(options.certificate),
    connectTimeoutMs: Math.min(options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS, MAX_TIMER_MS),
    destinations: new WeakMap(),
  };
  const sessions = new Http2Sessions(way);

  function sendOne(call: HttpCall, isRepeatable: boolean): Promise<HttpAnswer> {
    const url = checkedUrl(call.url);
    const { body, signal } = call;
    const headers = checkedHeaders(call.headers ?? {});
    signal?.throwIfAborted();
    return exchange(way, {
      url,
      method: effectiveMethod(call),
      headers,
      body,
      signal,
      isRepeatable,
    });
  }

  const egress: Egress = {
    check: (url) => checkUrl(url, mayReach),
    request(call) {
      const isRepeatable = effectiveMethod(call) === "GET";
      return followRedirects(call, (one) => sendOne(one, isRepeatable));
    },
    async post(url, { headers, body, timeoutMs, signal }) {
      const { host } = checkUrl(url, mayReach);
      return withDeadline({ host, timeoutMs, signal }, async (stop) => {
        const answer = await sendOne({ method: "POST", url, headers, body, signal: stop }, true);
        return {
          status: answer.status,
          headers: answer.headers,
          body: await readBody(answer.body),
        };
      });
    },
    openHttp2: async (url, { signal } = {}) => sessions.open(checkUrl(url, mayReach), signal),
    close() {
      connections.close();
      sessions.close();
    },
  };
  return reportRefusals(egress);
}

/** Found by its name, so that copies of this package share it. */
const REFUSED = diagnosticsChannel.channel("convoke.egress.refused");

/**
 * Calls a function for each request of this process that an egress policy refuses, whatever the
 * request is for. Returns a function that ends it.
 */
export function watchRefusals(onRefused: (reason: EgressReason) => void): () => void {
  const listener = (reason: unknown): void => onRefused(reason as EgressReason);
  REFUSED.subscribe(listener);
  return () => {
    REFUSED.unsubscribe(listener);
  };
}

function reportRefusals(egress: Egress): Egress {
  const report = (error: unknown): never => {
    if (error instanceof EgressError && error.kind === "refused") REFUSED.publish(error.reason);
    throw error;
  };
  return {
    ...egress,
    check(url) {
      try {
        return egress.check(url);
      } catch (error) {
        return report(error);
      }
    },
    async request(call) {
      try {
        return await egress.request(call);
      } catch (error) {
        return report(error);
      }
    },
    post: (url, request) => egress.post(url, request).catch(report),
    openHttp2: (url, options) => egress.openHttp2(url, options).catch(report),
  };
}

/**
 * Headers of the connection itself. A caller that could set them could reach another site behind the
 * same address, or smuggle a second request into the first.
 */
const OWN_HEADERS = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

type Headers = Readonly<Record<string, string>>;

/** What is sent for headers that can no longer change: a client sends many requests with the same. */
const passed = new WeakMap<Headers, Headers>();

/** The headers to send for those of the caller. */
function checkedHeaders(headers: Headers): Headers {
  const known = passed.get(headers);
  if (known !== undefined) return known;
  checkHeaders(headers);
  // Without this header a server may compress its response (RFC 9110 §12.5.3).
  const sent = { "Accept-Encoding": "identity", ...headers };
  if (Object.isFrozen(headers)) passed.set(headers, sent);
  return sent;
}

/** Rejects headers that cannot be sent, naming them but never their values. */
function checkHeaders(headers: Headers): void {
  for (const [name, value] of Object.entries(headers)) {
    if (OWN_HEADERS.has(name.toLowerCase())) {
      throw new EgressError("malformed", `the header "${name}" is set by the client; leave it out`);
    }
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    } catch (error) {
      throw new EgressError(
        "malformed",
        `the header ${JSON.stringify(name)} cannot be sent; its name must be a token and its value visible ASCII`,
        { cause: error },
      );
    }
  }
}

/** Enough to find out what went wrong. */
const MAX_BODY_BYTES = 64 * 1024;

/** The beginning of a body as text. The rest of a long body is not read, and its connection is closed. */
async function readBody(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    // Leaving the loop closes the connection.
    if (size > MAX_BODY_BYTES) break;
  }
  const bytes = Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES);
  // `stream: true` drops a character that was cut in two.
  return new TextDecoder().decode(bytes, { stream: true });
}

interface DeadlineOptions {
  /** The host that the error names. */
  readonly host: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Rejects when the time is over or the caller aborts, even if the work cannot be stopped (a DNS
 * lookup); everything else sees the signal.
 */
export async function withDeadline<T>(
  { host, timeoutMs, signal }: DeadlineOptions,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (!(timeoutMs > 0 && timeoutMs <= MAX_TIMER_MS)) {
    throw new TypeError(`timeoutMs is ${timeoutMs}; give milliseconds from 1 to ${MAX_TIMER_MS}`);
  }
  signal?.throwIfAborted();

  const controller = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    controller.signal.addEventListener("abort", () => reject(controller.signal.reason as Error));
  });
  const expire = () =>
    controller.abort(
      new EgressError("timeout", `"${host}" did not answer within ${timeoutMs} milliseconds`),
    );
  const leave = () => controller.abort(signal?.reason);
  const timer = setTimeout(expire, timeoutMs);
  signal?.addEventListener("abort", leave);
  try {
    return await Promise.race([work(controller.signal), aborted]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", leave);
  }
}

/** Statuses without a body, according to the Fetch standard. */
const BODILESS: ReadonlySet<number> = new Set([101, 103, 204, 205, 304]);

/**
 * The egress policy as a `fetch` function, for libraries that accept one, such as clients of model
 * providers and MCP servers. Supports text bodies only.
 */
export function createEgressFetch(
  client: Pick<HttpClient, "request">,
): (input: string | URL | Request, init?: RequestInit) => Promise<Response> {
  return async (input, init = {}) => {
    if (input instanceof Request)
      throw new TypeError("pass a URL and options instead of a Request");
    const call = toCall(String(input), init);
    try {
      const { status, statusText, headers, body } = await client.request(call);
      const stream = BODILESS.has(status) ? null : toStream(body);
      return new Response(stream, { status, statusText, headers });
    } catch (error) {
      call.signal?.throwIfAborted();
      // Libraries recognize a network failure by this message and by the system's error code in `cause`.
      throw new TypeError("fetch failed", { cause: hasCode(error) ? error.cause : error });
    }
  };
}

function hasCode(error: unknown): error is Error & { readonly cause: Error } {
  return error instanceof Error && error.cause instanceof Error && "code" in error.cause;
}

const METHODS: ReadonlySet<string> = new Set(["GET", "POST", "DELETE"]);

function toCall(url: string, init: RequestInit): HttpCall {
  const { method = "GET", body, redirect } = init;
  const name = method.toUpperCase();
  if (!METHODS.has(name))
    throw new TypeError(`the method ${name} is not supported; use GET, POST or DELETE`);
  if (body !== undefined && body !== null && typeof body !== "string") {
    throw new TypeError("the body must be a string");
  }
  return {
    method: name as NonNullable<HttpCall["method"]>,
    url,
    headers: Object.fromEntries(new Headers(init.headers)),
    ...(typeof body === "string" && { body }),
    ...(redirect === "manual" && { redirects: "answer" }),
    signal: init.signal ?? undefined,
  };
}

function toStream(body: AsyncIterable<Uint8Array>): ReadableStream {
  const chunks = body[Symbol.asyncIterator]();
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await chunks.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}
