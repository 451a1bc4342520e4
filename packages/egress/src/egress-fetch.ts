import type { HttpCall, HttpClient } from "./http/http-client.ts";

const METHODS: ReadonlySet<string> = new Set(["GET", "POST", "DELETE"]);

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
