import type { Entrance } from "../http/entrance.ts";
import type { HttpHeaders, HttpRequest, HttpResponse } from "../http/exchange.ts";
import { belowBase } from "../http/base-path.ts";
import { readableOf } from "./readable-of.ts";
import { readBody } from "./read-body.ts";

/** Answers a request of the Fetch standard. It needs no `this`, so it can be handed around. */
export type FetchHandler = (request: Request) => Promise<Response>;

/** Statuses that have no body (RFC 9110 §6.4.1). */
const BODILESS: ReadonlySet<number> = new Set([204, 304]);

/** Translates between the Fetch standard and the transport-neutral handler; knows nothing else. */
export function createFetchHandler(entrance: Entrance): FetchHandler {
  const { handle, newRequestId, onAnswer } = entrance;
  return async (request) => {
    const requestId = newRequestId();
    const asked = requestOf(request, entrance);
    const answer = await handle(asked);
    const { method, path } = asked;
    onAnswer({ requestId, method, path, status: answer.status });
    return responseOf(request, answer, requestId);
  };
}

function requestOf(request: Request, { basePath, maxBodyBytes }: Entrance): HttpRequest {
  const url = new URL(request.url);
  return {
    method: request.method,
    basePath,
    path: belowBase(url.pathname, basePath),
    query: url.searchParams,
    // A request that never was on a network has no Host, and its URL says the same.
    headers: { host: url.host, ...Object.fromEntries(request.headers) },
    // Trailers, which gRPC needs, cannot be sent this way.
    isHttp2: false,
    isSecure: url.protocol === "https:",
    body: () => readBody(request, maxBodyBytes),
  };
}

function responseOf(request: Request, answer: HttpResponse, requestId: string): Response {
  const { status, body, trailers } = answer;
  const headers = headersOf(answer, requestId);
  const isWhole = typeof body === "string" || body instanceof Uint8Array;
  if (!isWhole) return new Response(readableOf(body, request.signal), { status, headers });
  if (BODILESS.has(status)) return new Response(null, { status, headers });
  const bytes = Buffer.from(body);
  const length = trailers === undefined && { "content-length": String(bytes.byteLength) };
  const init = { status, headers: { ...headers, ...length } };
  return new Response(request.method === "HEAD" ? null : bytes, init);
}

/** The connection belongs to whoever has the port. What gRPC would say after the body comes before it. */
function headersOf({ headers, trailers }: HttpResponse, requestId: string): HttpHeaders {
  const { connection: _, ...rest } = headers as Record<string, string>;
  return { ...rest, ...trailers?.(), "x-request-id": requestId };
}
