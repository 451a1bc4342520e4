import type { HttpCall, HttpClient } from "./http/http-client.ts";

const METHODS: ReadonlySet<string> = new Set(["GET", "POST", "DELETE"]);

/** Statuses that have no body, by the Fetch standard. */
const BODILESS: ReadonlySet<number> = new Set([101, 103, 204, 205, 304]);

/**
 * The egress policy in the words of the Fetch standard, for packages that take a
 * `fetch`: those that speak to models, and to MCP servers. They send text.
 */
export function createEgressFetch(
  client: Pick<HttpClient, "request">,
): (input: string | URL | Request, init?: RequestInit) => Promise<Response> {
  return async (input, init = {}) => {
    if (input instanceof Request)
      throw new TypeError("give an address and its options, no Request");
    const call = callOf(String(input), init);
    try {
      const { status, statusText, headers, body } = await client.request(call);
      const stream = BODILESS.has(status) ? null : streamOf(body);
      return new Response(stream, { status, statusText, headers });
    } catch (error) {
      call.signal?.throwIfAborted();
      // In these words, and by the code of the system below them, packages know that no answer came.
      throw new TypeError("fetch failed", { cause: hasCode(error) ? error.cause : error });
    }
  };
}

function hasCode(error: unknown): error is Error & { readonly cause: Error } {
  return error instanceof Error && error.cause instanceof Error && "code" in error.cause;
}

function callOf(url: string, init: RequestInit): HttpCall {
  const { method = "GET", body, redirect } = init;
  const name = method.toUpperCase();
  if (!METHODS.has(name)) throw new TypeError(`${name} is not sent; only GET, POST and DELETE are`);
  if (body !== undefined && body !== null && typeof body !== "string") {
    throw new TypeError("only text is sent");
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

function streamOf(body: AsyncIterable<Uint8Array>): ReadableStream {
  const pieces = body[Symbol.asyncIterator]();
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await pieces.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}
