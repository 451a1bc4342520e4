import { ClientError } from "@convoke/protocol";
import { followRedirects, otherOrigin } from "./follow-redirects.ts";
import { type HttpAnswer, type HttpCall, type HttpClient, effectiveMethod } from "./http-client.ts";
import { unreachable } from "./read-body.ts";

/** An HTTP client on `fetch`: for browsers, and for programs that pass their own. */
export function createFetchClient(
  fetch: typeof globalThis.fetch = (...call) => globalThis.fetch(...call),
): HttpClient {
  async function send(call: HttpCall, redirect: RequestRedirect): Promise<Response> {
    const { url, headers, body, signal } = call;
    try {
      return await fetch(url, {
        method: effectiveMethod(call),
        ...(headers && { headers: { ...headers } }),
        ...(body !== undefined && { body }),
        ...(signal && { signal }),
        redirect,
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw unreachable(`could not reach ${url}`, error);
    }
  }

  async function request(call: HttpCall): Promise<HttpAnswer> {
    const response = await send(call, "manual");
    if (response.type !== "opaqueredirect") return toAnswer(call, response);
    rejectUnlessSafe(call);
    const followed = await send(call, "follow");
    const { origin } = new URL(call.url);
    const { origin: end } = new URL(followed.url);
    if (end !== origin) throw otherOrigin(origin, end);
    return toAnswer(call, followed);
  }

  return {
    request: (call) => followRedirects(call, request),
    close: () => undefined,
  };
}

/** Headers that are safe to send to any origin; any other header may be a credential. */
const SAFE_HEADERS = new Set([
  "a2a-extensions",
  "a2a-version",
  "accept",
  "if-modified-since",
  "if-none-match",
  "traceparent",
  "tracestate",
  "x-a2a-extensions",
]);

/**
 * Browsers report that there is a redirect, but not its target; and when they follow one to another
 * origin, they send every header except `Authorization` there.
 */
function rejectUnlessSafe(call: HttpCall): void {
  const names = Object.keys(call.headers ?? {});
  const isSafe = names.every((name) => SAFE_HEADERS.has(name.toLowerCase()));
  if (effectiveMethod(call) === "GET" && isSafe) return;
  const { origin } = new URL(call.url);
  throw new ClientError(
    "other-origin",
    `${origin} responds with a redirect, and a browser does not reveal its target; ` +
      `nothing was sent there. Use the final address`,
  );
}

function toAnswer({ url, signal }: HttpCall, response: Response): HttpAnswer {
  const { status, statusText, headers, body } = response;
  return {
    status,
    statusText,
    headers: Object.fromEntries(headers),
    url: response.url || url,
    body: new FetchBody(body, { url, signal }),
  };
}

interface FetchBodyOptions {
  readonly url: string;
  readonly signal: AbortSignal | undefined;
}

/** The chunks of a `fetch` body. Leaving before the end closes the connection. */
class FetchBody implements AsyncIterableIterator<Uint8Array, void> {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  readonly #options: FetchBodyOptions;

  constructor(body: ReadableStream<Uint8Array> | null, options: FetchBodyOptions) {
    this.#reader = body?.getReader();
    this.#options = options;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array, void>> {
    try {
      const { done = true, value } = (await this.#reader?.read()) ?? {};
      return done || value === undefined ? { done: true, value: undefined } : { done, value };
    } catch (error) {
      this.#options.signal?.throwIfAborted();
      throw unreachable(`the connection to ${this.#options.url} was lost`, error);
    }
  }

  async return(): Promise<IteratorResult<Uint8Array, void>> {
    // `cancel` rejects for a body that failed or was aborted; it is already closed.
    await this.#reader?.cancel().catch(() => undefined);
    return { done: true, value: undefined };
  }
}
