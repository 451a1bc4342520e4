import { ClientError } from "@convoke/protocol";
import { followRedirects, otherOrigin } from "./follow-redirects.ts";
import type { HttpAnswer, HttpCall, HttpClient } from "./http-client.ts";
import { methodOf } from "./method-of.ts";
import { unreachable } from "./unreachable.ts";

/** By `fetch`: for browsers, and for programs that bring their own. */
export function createFetchClient(
  fetch: typeof globalThis.fetch = (...call) => globalThis.fetch(...call),
): HttpClient {
  async function ask(call: HttpCall, redirect: RequestRedirect): Promise<Response> {
    const { url, headers, body, signal } = call;
    try {
      return await fetch(url, {
        method: methodOf(call),
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
    const response = await ask(call, "manual");
    if (response.type !== "opaqueredirect") return answerOf(call, response);
    refuseUnlessHarmless(call);
    const followed = await ask(call, "follow");
    const { origin } = new URL(call.url);
    const { origin: end } = new URL(followed.url);
    if (end !== origin) throw otherOrigin(origin, end);
    return answerOf(call, followed);
  }

  return {
    request: (call) => followRedirects(call, request),
    close: () => undefined,
  };
}

/** What a request may carry wherever it ends up; anything else may be a credential. */
const HARMLESS = new Set([
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
 * Browsers say that there is a redirect, but not where it leads; and when they
 * follow one to another origin, they take along every header but `Authorization`.
 */
function refuseUnlessHarmless(call: HttpCall): void {
  const names = Object.keys(call.headers ?? {});
  const isHarmless = names.every((name) => HARMLESS.has(name.toLowerCase()));
  if (methodOf(call) === "GET" && isHarmless) return;
  const { origin } = new URL(call.url);
  throw new ClientError(
    "other-origin",
    `${origin} answers with a redirect, and a browser does not say where it leads; ` +
      `nothing was sent there. Use the address that it leads to`,
  );
}

function answerOf({ url, signal }: HttpCall, response: Response): HttpAnswer {
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

/** The pieces of a body that `fetch` gave. Leaving before the end closes the connection. */
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
    // A body that failed or was aborted refuses to be canceled; it is closed already.
    await this.#reader?.cancel().catch(() => undefined);
    return { done: true, value: undefined };
  }
}
