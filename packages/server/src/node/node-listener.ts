import type { IncomingMessage, ServerResponse } from "node:http";
import type { TLSSocket } from "node:tls";
import {
  type ByteStream,
  type HttpHeaders,
  type HttpRequest,
  type HttpResponse,
  type RequestHandler,
  bodyAlreadyRead,
  bodyCutOff,
  bodyTooLarge,
} from "../http/exchange.ts";
import { stripBasePath } from "../http/address.ts";
import type { Http2ServerRequest } from "node:http2";

/** Handles requests of HTTP/1.1 and HTTP/2, which have the same interface in Node. */
export type NodeListener = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

/** Adapts `node:http` requests and responses to the transport-independent handler. */
export function createNodeListener(handler: RequestHandler): NodeListener {
  const { handle, newRequestId, onResponse } = handler;
  return (incoming, outgoing) => {
    const requestId = newRequestId();
    const request = toHttpRequest(incoming, handler);
    void handle(request).then(
      (response) => {
        const { method, path } = request;
        onResponse({ requestId, method, path, status: response.status });
        respond(incoming, outgoing, response, requestId);
      },
      // The server could not start; its caller gets the error.
      () => outgoing.destroy(),
    );
  };
}

function toHttpRequest(incoming: IncomingMessage, handler: RequestHandler): HttpRequest {
  const { maxBodyBytes } = handler;
  const { target, basePath } = locateRequest(incoming, handler.basePath);
  const mark = target.indexOf("?");
  return {
    method: incoming.method ?? "GET",
    basePath,
    path: mark === -1 ? target : target.slice(0, mark),
    query: mark === -1 ? EMPTY_QUERY : new URLSearchParams(target.slice(mark + 1)),
    headers: readHeaders(incoming),
    isHttp2: isHttp2(incoming),
    isSecure: isSecure(incoming),
    node: incoming,
    body: async () => parsedBody(incoming, maxBodyBytes) ?? readBody(incoming, maxBodyBytes),
  };
}

function isHttp2(message: IncomingMessage): boolean {
  return message.httpVersionMajor === 2;
}

/** HTTP/2 streams share a socket, and have a pseudo-header instead. */
function isSecure(message: IncomingMessage): boolean {
  if (isHttp2(message)) return message.headers[":scheme"] === "https";
  return (message.socket as Partial<TLSSocket>).encrypted === true;
}

/** HTTP/2 sends the host as `:authority`. */
function readHeaders({ headers }: IncomingMessage): HttpRequest["headers"] {
  const authority = headers[":authority"];
  return headers.host !== undefined || authority === undefined
    ? headers
    : { ...headers, host: authority };
}

const EMPTY_QUERY = new URLSearchParams();

function respond(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  response: HttpResponse,
  requestId: string,
): void {
  if (outgoing.destroyed) return;
  const { status, body, trailers } = response;
  const unread = !incoming.complete && incoming.method === "POST";
  const all = responseHeaders(incoming, response, { requestId, unread });
  if (typeof body !== "string" && !(body instanceof Uint8Array)) {
    outgoing.writeHead(status, all);
    return stream(outgoing, body, trailers);
  }
  // RFC 9110 §8.6 forbids a length without a body, and trailers mark the end themselves.
  const hasLength = status !== 304 && status !== 204 && trailers === undefined;
  const length = hasLength ? { "content-length": Buffer.byteLength(body) } : {};
  outgoing.writeHead(status, { ...all, ...length });
  if (unread && !isHttp2(incoming)) return linger(incoming, outgoing, body);
  if (trailers !== undefined) outgoing.addTrailers(trailers());
  outgoing.end(incoming.method === "HEAD" ? undefined : body);
}

function responseHeaders(
  incoming: IncomingMessage,
  { headers }: HttpResponse,
  { requestId, unread }: { readonly requestId: string; readonly unread: boolean },
): Record<string, string> {
  const all = { ...headers, "x-request-id": requestId };
  if (!isHttp2(incoming)) return { ...all, ...(unread && { connection: "close" }) };
  // HTTP/2 forbids the header (RFC 9113 §8.2.2).
  const { connection: _, ...rest } = all as Record<string, string>;
  return rest;
}

/** How long a rejected client may continue to send, so that it can read the response. */
const LINGER_MS = 2000;

/**
 * Lets a rejected client continue to send for a moment, then closes the connection.
 * The response is written at once but ended later: ending it closes the connection,
 * and a client that is still sending might not read it.
 */
function linger(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  body: string | Uint8Array,
): void {
  outgoing.write(body);
  const timer = setTimeout(() => incoming.destroy(), LINGER_MS).unref();
  incoming.once("close", () => {
    clearTimeout(timer);
    outgoing.end();
  });
  incoming.resume();
}

function stream(outgoing: ServerResponse, body: ByteStream, trailers?: () => HttpHeaders): void {
  // Send headers first, so that the client knows that the stream is open before the first event.
  outgoing.flushHeaders();
  const control = body.open({
    write: (piece) => outgoing.write(piece),
    end: () => {
      if (trailers !== undefined) outgoing.addTrailers(trailers());
      outgoing.end();
    },
  });
  outgoing.on("drain", () => control.drained());
  outgoing.on("close", () => control.closed());
}

/** What Express and Connect add to a request when they remove a prefix from its URL. */
interface RoutedRequest extends IncomingMessage {
  readonly baseUrl?: unknown;
  readonly originalUrl?: unknown;
}

interface RequestLocation {
  /** The path and query below the base path. */
  readonly target: string;
  readonly basePath: string;
}

/** Splits the URL of a request. `basePath` is the option of `mount`. */
export function locateRequest(incoming: RoutedRequest, basePath: string): RequestLocation {
  const { url = "/", baseUrl, originalUrl } = incoming;
  if (basePath !== "") {
    const whole = typeof originalUrl === "string" ? originalUrl : url;
    const mark = whole.indexOf("?");
    const path = mark === -1 ? whole : whole.slice(0, mark);
    return { target: stripBasePath(path, basePath) + whole.slice(path.length), basePath };
  }
  if (typeof baseUrl === "string") return { target: url, basePath: baseUrl };
  // Connect provides only the whole URL.
  const isBelow = typeof originalUrl === "string" && originalUrl.endsWith(url);
  const prefix = isBelow ? originalUrl.slice(0, originalUrl.length - url.length) : "";
  return { target: url, basePath: prefix };
}

/** Reads a body. Rejects if it exceeds the limit, without keeping the rest. */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > maxBytes) return Promise.reject(bodyTooLarge(maxBytes));
  // The client disconnected before we got here, so there will be no event.
  if (request.destroyed) return Promise.reject(bodyCutOff());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) {
        chunks.push(chunk);
      } else {
        chunks.length = 0;
        reject(bodyTooLarge(maxBytes));
      }
    });
    const cutOff = (): void => reject(bodyCutOff());
    request.on("error", cutOff);
    request.on("close", cutOff);
    request.on("end", () => {
      // Every request closes; creating an unused error would cost more than reading the body.
      request.off("close", cutOff);
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
    });
  });
}

/** A request that a framework may have processed. */
interface ParsedRequest extends IncomingMessage {
  /** The parsed body. */
  readonly body?: unknown;
}

/**
 * The body that a body parser has read; `undefined` if it is still to be read.
 * Some parsers set `body` without reading it, so the state of the stream decides.
 */
export function parsedBody(incoming: ParsedRequest, maxBytes: number): Uint8Array | undefined {
  if (!incoming.readableDidRead && !incoming.readableEnded) return undefined;
  const { body } = incoming;
  if (body === undefined || body === null) {
    if (isReset(incoming)) throw bodyCutOff();
    throw bodyAlreadyRead("mount it before middleware that reads bodies, or set request.body");
  }
  const bytes = toBytes(body);
  if (bytes.byteLength > maxBytes) throw bodyTooLarge(maxBytes);
  return bytes;
}

/** Node drains a reset HTTP/2 stream as if it had been read. */
function isReset(incoming: IncomingMessage): boolean {
  const { stream } = incoming as IncomingMessage & Partial<Pick<Http2ServerRequest, "stream">>;
  return stream?.destroyed === true;
}

function toBytes(body: NonNullable<unknown>): Uint8Array {
  if (body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}
