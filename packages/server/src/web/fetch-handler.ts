import {
  type ByteStream,
  type ByteStreamControl,
  type HttpHeaders,
  type HttpRequest,
  type HttpResponse,
  type RequestHandler,
  allHeaders,
  bodyAlreadyRead,
  bodyTooLarge,
  checkEncoding,
} from "../http/exchange.ts";
import { stripBasePath } from "../http/address.ts";
import { A2AError } from "@convoke/protocol";

/** Handles a request of the Fetch standard. Does not use `this`, so it can be passed around. */
export type FetchHandler = (request: Request) => Promise<Response>;

/** Adapts requests and responses of the Fetch standard to the transport-independent handler. */
export function createFetchHandler(handler: RequestHandler): FetchHandler {
  const { handle, onResponse } = handler;
  return async (request) => {
    const received = toHttpRequest(request, handler);
    const response = await handle(received);
    const { id: requestId, method, path } = received;
    onResponse({ requestId, method, path, status: response.status });
    return toResponse(request, response, received);
  };
}

function toHttpRequest(request: Request, handler: RequestHandler): HttpRequest {
  const { basePath, maxBodyBytes, requestId } = handler;
  const url = new URL(request.url);
  return {
    id: requestId(request.headers.get("x-request-id") ?? undefined),
    method: request.method,
    basePath,
    path: stripBasePath(url.pathname, basePath),
    query: url.searchParams,
    // A request that did not come from the network has no Host header.
    headers: { host: url.host, ...Object.fromEntries(request.headers) },
    // The Fetch standard has no trailers, which gRPC needs.
    isHttp2: false,
    isSecure: url.protocol === "https:",
    web: request,
    body: () => readBody(request, maxBodyBytes),
  };
}

/** Statuses without a body (RFC 9110 §6.4.1). */
const NO_BODY: ReadonlySet<number> = new Set([204, 304]);

function toResponse(request: Request, response: HttpResponse, received: HttpRequest): Response {
  const { status, body, trailers } = response;
  const headers = toHeaders(response, received);
  const isWhole = typeof body === "string" || body instanceof Uint8Array;
  if (!isWhole) return new Response(toReadableStream(body, request.signal), { status, headers });
  if (NO_BODY.has(status)) return new Response(null, { status, headers });
  const bytes = Buffer.from(body);
  const length = trailers === undefined && { "content-length": String(bytes.byteLength) };
  const init = { status, headers: { ...headers, ...length } };
  return new Response(request.method === "HEAD" ? null : bytes, init);
}

/** Removes `connection`, which belongs to the app, and sends trailers as headers. */
function toHeaders(response: HttpResponse, received: HttpRequest): HttpHeaders {
  const { connection: _, ...rest } = allHeaders(response, received);
  return { ...rest, ...response.trailers?.() };
}

const ENCODER = new TextEncoder();

/**
 * Converts a stream to the Fetch standard. It is opened by the first read, and
 * writes only when a read is pending: a client that stops reading costs at most the
 * last write.
 *
 * @param signal ends the stream when the request is aborted
 */
export function toReadableStream(
  stream: ByteStream,
  signal: AbortSignal,
): ReadableStream<Uint8Array> {
  let control: ByteStreamControl | undefined;
  let abort: () => void = () => undefined;
  const leave = (): void => {
    signal.removeEventListener("abort", abort);
    if (control === undefined) stream.abandon?.();
    else control.closed();
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        abort = () => {
          leave();
          controller.error(signal.reason);
        };
        if (signal.aborted) abort();
        else signal.addEventListener("abort", abort, { once: true });
      },
      pull(controller) {
        if (control !== undefined) return control.drained();
        control = stream.open({
          write(piece) {
            controller.enqueue(typeof piece === "string" ? ENCODER.encode(piece) : piece);
            return false;
          },
          end() {
            signal.removeEventListener("abort", abort);
            controller.close();
          },
          abort() {
            signal.removeEventListener("abort", abort);
            controller.error(new Error("the content could not be read to its end"));
          },
        });
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  );
}

/** Reads a body. Rejects if it exceeds the limit, without keeping the rest. */
export async function readBody(request: Request, maxBytes: number): Promise<Uint8Array> {
  checkEncoding(request.headers.get("content-encoding"));
  if (request.bodyUsed) throw bodyAlreadyRead("pass a request whose body was not used");
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw bodyTooLarge(maxBytes);
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    // Leaving the loop cancels the stream.
    for await (const chunk of request.body) {
      size += chunk.byteLength;
      if (size > maxBytes) throw bodyTooLarge(maxBytes);
      chunks.push(chunk);
    }
  } catch (error) {
    if (A2AError.is(error)) throw error;
    // The client has disconnected.
    throw new A2AError("InvalidRequest", "the body was cut off", { cause: error });
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}
