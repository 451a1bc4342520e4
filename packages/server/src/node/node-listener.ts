import type { IncomingMessage, ServerResponse } from "node:http";
import type { TLSSocket } from "node:tls";
import type { Entrance } from "../http/entrance.ts";
import type { ByteStream, HttpHeaders, HttpRequest, HttpResponse } from "../http/exchange.ts";
import { givenBody } from "./given-body.ts";
import { placeOf } from "./mount-path.ts";
import { readBody } from "./read-body.ts";

/** How long a client that is refused may go on sending, so that it can read why. */
const LINGER_MS = 2000;

/** Takes requests of HTTP/1.1 and of HTTP/2, which Node gives the same face. */
export type NodeListener = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

/** Translates between `node:http` and the transport-neutral handler; knows nothing else. */
export function createNodeListener(entrance: Entrance): NodeListener {
  const { handle, newRequestId, onAnswer } = entrance;
  return (incoming, outgoing) => {
    const requestId = newRequestId();
    const request = requestOf(incoming, entrance);
    void handle(request).then(
      (response) => {
        const { method, path } = request;
        onAnswer({ requestId, method, path, status: response.status });
        answer(incoming, outgoing, response, requestId);
      },
      // A server that could not start has no answer; whoever started it is told why.
      () => outgoing.destroy(),
    );
  };
}

function requestOf(incoming: IncomingMessage, entrance: Entrance): HttpRequest {
  const { maxBodyBytes } = entrance;
  const { target, basePath } = placeOf(incoming, entrance.basePath);
  const mark = target.indexOf("?");
  return {
    method: incoming.method ?? "GET",
    basePath,
    path: mark === -1 ? target : target.slice(0, mark),
    query: mark === -1 ? EMPTY_QUERY : new URLSearchParams(target.slice(mark + 1)),
    headers: headersOf(incoming),
    isHttp2: isHttp2(incoming),
    isSecure: isSecure(incoming),
    body: async () => givenBody(incoming, maxBodyBytes) ?? readBody(incoming, maxBodyBytes),
  };
}

function isHttp2(message: IncomingMessage): boolean {
  return message.httpVersionMajor === 2;
}

/** The streams of HTTP/2 share a socket, and say it themselves. */
function isSecure(message: IncomingMessage): boolean {
  if (isHttp2(message)) return message.headers[":scheme"] === "https";
  return (message.socket as Partial<TLSSocket>).encrypted === true;
}

/** HTTP/2 has another name for the host. */
function headersOf({ headers }: IncomingMessage): HttpRequest["headers"] {
  const authority = headers[":authority"];
  return headers.host !== undefined || authority === undefined
    ? headers
    : { ...headers, host: authority };
}

const EMPTY_QUERY = new URLSearchParams();

function answer(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  response: HttpResponse,
  requestId: string,
): void {
  if (outgoing.destroyed) return;
  const { status, body, trailers } = response;
  const unread = !incoming.complete && incoming.method === "POST";
  const all = headersFor(incoming, response, { requestId, unread });
  if (typeof body !== "string" && !(body instanceof Uint8Array)) {
    outgoing.writeHead(status, all);
    return stream(outgoing, body, trailers);
  }
  // RFC 9110 §8.6 forbids a length where there is no body, and what has trailers tells its end by them.
  const hasLength = status !== 304 && status !== 204 && trailers === undefined;
  const length = hasLength ? { "content-length": Buffer.byteLength(body) } : {};
  outgoing.writeHead(status, { ...all, ...length });
  if (unread && !isHttp2(incoming)) return linger(incoming, outgoing, body);
  if (trailers !== undefined) outgoing.addTrailers(trailers());
  outgoing.end(incoming.method === "HEAD" ? undefined : body);
}

function headersFor(
  incoming: IncomingMessage,
  { headers }: HttpResponse,
  { requestId, unread }: { readonly requestId: string; readonly unread: boolean },
): Record<string, string> {
  const all = { ...headers, "x-request-id": requestId };
  if (!isHttp2(incoming)) return { ...all, ...(unread && { connection: "close" }) };
  // HTTP/2 keeps connections by itself, and refuses to be told (RFC 9113 §8.2.2).
  const { connection: _, ...rest } = all as Record<string, string>;
  return rest;
}

/**
 * Lets a refused client finish its sentence for a moment, then hangs up. The
 * answer is all there but ends later, because ending it closes the connection,
 * and a client that is still sending would lose what it has not read.
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
  // Headers first, so that a reader knows the stream is open before anything happens on it.
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
