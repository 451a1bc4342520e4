import type { IncomingMessage, ServerResponse } from "node:http";
import type { TLSSocket } from "node:tls";
import {
  type ByteSink,
  type ByteStream,
  type ByteStreamControl,
  type HttpHeaders,
  type HttpRequest,
  type HttpResponse,
  type RequestHandler,
  allHeaders,
} from "../http/exchange.ts";
import { stripBasePath } from "../http/address.ts";
import { A2AError } from "@convoke/protocol";
import { http2Stream, isHttp2, isReset, readBody } from "./read-body.ts";

/** The error code of a stream that ends without one (RFC 9113 §7). */
const NGHTTP2_NO_ERROR = 0;

/** Handles requests of HTTP/1.1 and HTTP/2, which have the same interface in Node. */
export type NodeListener = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

/** Adapts `node:http` requests and responses to the transport-independent handler. */
export function createNodeListener(handler: RequestHandler): NodeListener {
  const { handle, onResponse } = handler;
  const unread = new UnreadBytes(handler.maxUnreadBytes);
  const answer: NodeListener = (incoming, outgoing) => {
    const request = toHttpRequest(incoming, handler);
    void handle(request).then(
      (handled) => {
        const response = unread.admits(handled)
          ? handled
          : handler.reject(request, unread.error(handler));
        const { id: requestId, method, path } = request;
        onResponse({ requestId, method, path, status: response.status });
        const headers = allHeaders(response, request);
        respond({ incoming, outgoing, requestId, handler, unread }, response, headers);
      },
      // The server could not start; its caller gets the error.
      () => outgoing.destroy(),
    );
  };
  return (incoming, outgoing) => takeTurn(incoming, outgoing, () => answer(incoming, outgoing));
}

/**
 * The responses of an HTTP/1.1 connection are sent in the order of its requests, so a request that
 * arrives before the earlier ones are answered (pipelining) waits for its turn. Otherwise a client
 * could make the server work on any number of requests at once, and leave.
 */
function takeTurn(incoming: IncomingMessage, outgoing: ServerResponse, start: () => void): void {
  // Frameworks that handle requests without a network may have no socket.
  const socket = incoming.socket as QueuedSocket | undefined;
  if (isHttp2(incoming) || socket === undefined) return start();
  const earlier = socket[LAST_RESPONSE];
  socket[LAST_RESPONSE] = outgoing;
  if (earlier === undefined || earlier.closed || earlier.destroyed) return start();
  earlier.once("close", () => {
    if (!socket.destroyed) start();
  });
}

const LAST_RESPONSE = Symbol("last response");

type QueuedSocket = IncomingMessage["socket"] & { [LAST_RESPONSE]?: ServerResponse };

/** A request that is being answered. A stream keeps it, so it does not have the whole request. */
interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly requestId: string;
  readonly handler: RequestHandler;
  readonly unread: UnreadBytes;
}

/** Smaller responses are not counted: they fit into the buffers that every connection has. */
const COUNTED_BYTES = 64 * 1024;

/** Counts the bytes of responses that clients have not read. */
class UnreadBytes {
  readonly #max: number;
  #total = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** A single response is always sent, however large it is. */
  admits({ body }: HttpResponse): boolean {
    if (!isWhole(body) || body.length < COUNTED_BYTES || this.#total === 0) return true;
    return this.#total + Buffer.byteLength(body) <= this.#max;
  }

  add(bytes: number, outgoing: ServerResponse): void {
    if (bytes < COUNTED_BYTES) return;
    this.#total += bytes;
    outgoing.once("close", () => (this.#total -= bytes));
  }

  error({ onLimit }: RequestHandler): A2AError {
    onLimit("unreadBytes", { unread: this.#total });
    const problem = `clients have not read ${this.#total} bytes of responses (the limit unreadBytes): try again later`;
    return new A2AError("TooManyRequests", problem, {
      details: { limit: "unreadBytes", most: String(this.#max) },
    });
  }
}

function isWhole(body: HttpResponse["body"]): body is string | Uint8Array {
  return typeof body === "string" || body instanceof Uint8Array;
}

function toHttpRequest(incoming: IncomingMessage, handler: RequestHandler): HttpRequest {
  const { maxBodyBytes, timeouts, requestId } = handler;
  const { target, basePath, host } = locateRequest(incoming, handler.basePath);
  const mark = target.indexOf("?");
  const given = incoming.headers["x-request-id"];
  return {
    id: requestId(typeof given === "string" ? given : undefined),
    method: incoming.method ?? "GET",
    basePath,
    path: mark === -1 ? target : target.slice(0, mark),
    query: mark === -1 ? EMPTY_QUERY : new URLSearchParams(target.slice(mark + 1)),
    headers: readHeaders(incoming, host),
    isHttp2: isHttp2(incoming),
    isSecure: isSecure(incoming),
    node: incoming,
    body: () => readBody(incoming, { maxBytes: maxBodyBytes, timeoutMs: timeouts.bodyMs }),
  };
}

/** HTTP/2 streams share a socket, and have a pseudo-header instead. */
function isSecure(message: IncomingMessage): boolean {
  if (isHttp2(message)) return message.headers[":scheme"] === "https";
  return (message.socket as Partial<TLSSocket>).encrypted === true;
}

/**
 * HTTP/2 sends the host as `:authority`.
 *
 * @param host the host in the target of the request, which overrides the header (RFC 9112 §3.2.2)
 */
function readHeaders(incoming: IncomingMessage, host: string | undefined): HttpRequest["headers"] {
  const headers = withRepeated(incoming);
  if (host !== undefined) return { ...headers, host };
  const authority = headers[":authority"];
  return headers.host !== undefined || authority === undefined
    ? headers
    : { ...headers, host: authority };
}

/** The headers that say who calls whom. A request has each of them once (RFC 9110 §7.2, §11.6.2). */
const ONCE: ReadonlySet<string> = new Set(["host", "authorization"]);
const ONCE_LENGTHS: ReadonlySet<number> = new Set(Array.from(ONCE, ({ length }) => length));

/**
 * Node keeps the first of several equal headers, and a proxy in front may have checked the last. All
 * of them are joined here, as Node does with other headers, so that the guard rejects the request.
 */
function withRepeated({ headers, rawHeaders }: IncomingMessage): IncomingMessage["headers"] {
  const found: Record<string, string> = {};
  let joined = headers;
  for (let place = 0; place < rawHeaders.length; place += 2) {
    const given = rawHeaders[place]!;
    if (!ONCE_LENGTHS.has(given.length)) continue;
    const name = given.toLowerCase();
    if (!ONCE.has(name)) continue;
    const earlier = found[name];
    const value = rawHeaders[place + 1]!;
    const all = earlier === undefined ? value : `${earlier}, ${value}`;
    if (earlier !== undefined) joined = { ...joined, [name]: all };
    found[name] = all;
  }
  return joined;
}

const EMPTY_QUERY = new URLSearchParams();

function respond(
  exchange: Exchange,
  response: HttpResponse,
  headers: ReturnType<typeof allHeaders>,
): void {
  const { incoming, outgoing } = exchange;
  const { status, body, trailers } = response;
  if (outgoing.destroyed || isReset(incoming)) {
    if (!isWhole(body)) body.abandon?.();
    return;
  }
  const unread = !incoming.complete && incoming.method === "POST";
  // HTTP/2 forbids the header (RFC 9113 §8.2.2).
  if (isHttp2(incoming)) delete headers["connection"];
  else if (unread) headers["connection"] = "close";
  if (!isWhole(body)) {
    outgoing.writeHead(status, headers);
    return stream(exchange, body, trailers);
  }
  const content = toContent(body);
  const bytes = Buffer.byteLength(content);
  // RFC 9110 §8.6 forbids a length without a body, and trailers mark the end themselves.
  const hasLength = status !== 304 && status !== 204 && trailers === undefined;
  if (hasLength) headers["content-length"] = String(bytes);
  outgoing.writeHead(status, headers);
  if (unread && !isHttp2(incoming)) return linger(incoming, outgoing, content);
  exchange.unread.add(bytes, outgoing);
  if (bytes >= COUNTED_BYTES) watchReader(exchange)();
  if (trailers !== undefined) outgoing.addTrailers(trailers());
  outgoing.end(incoming.method === "HEAD" ? undefined : content);
  if (unread) stopSending(incoming);
}

/** Large texts are encoded here, because Node would first copy them to join them with the headers. */
function toContent(body: string | Uint8Array): string | Uint8Array {
  return typeof body === "string" && body.length >= COUNTED_BYTES ? Buffer.from(body) : body;
}

/**
 * Disconnects a client that does not read its response. Returns a function to call with `true` when
 * the client has to read, and with `false` when it has read everything.
 */
function watchReader({ outgoing, handler, requestId }: Exchange): (isBehind?: boolean) => void {
  const { writeMs } = handler.timeouts;
  outgoing.on("timeout", () => {
    handler.onLimit("timeouts.writeMs", { requestId });
    // A stream of HTTP/2 is reset, and its connection stays.
    outgoing.destroy();
  });
  // Node restarts the time while the client reads.
  return (isBehind = true) => void outgoing.setTimeout(isBehind ? writeMs : 0);
}

/**
 * Informs an HTTP/2 client that the rest of its body is not read (RFC 9113 §8.1). Not at once: a
 * reset overtakes the response. Meanwhile the flow control of the stream limits what the client sends.
 */
function stopSending(incoming: IncomingMessage): void {
  const timer = setTimeout(() => http2Stream(incoming)?.close(NGHTTP2_NO_ERROR), LINGER_MS).unref();
  incoming.once("close", () => clearTimeout(timer));
}

/** How long, and how much, a rejected client may continue to send, so that it can read the response. */
const LINGER_MS = 2000;
const LINGER_BYTES = 256 * 1024;

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
  let received = 0;
  incoming.on("data", (chunk: Buffer) => {
    received += chunk.length;
    if (received > LINGER_BYTES) incoming.pause();
  });
  incoming.resume();
}

function stream(exchange: Exchange, body: ByteStream, trailers?: () => HttpHeaders): void {
  const outgoing: StreamedResponse = exchange.outgoing;
  const sink = new ResponseSink(exchange, trailers);
  const isCorked = cork(outgoing);
  // Send headers first, so that the client knows that the stream is open before the first event.
  outgoing.flushHeaders();
  sink.control = body.open(sink);
  if (isCorked) uncorkSoon(sink);
  outgoing[SINK] = sink;
  outgoing.on("drain", onDrain);
  outgoing.on("close", onClose);
}

/** Collects what is written until `uncork`. Returns false if the connection is shared, or does not exist. */
function cork({ socket, req }: ServerResponse): boolean {
  if (socket === null || req.httpVersionMajor !== 1) return false;
  socket.cork();
  return true;
}

/**
 * Sends what was collected after the commits that are made in this turn of the event loop and the next,
 * with their events: each packet costs as much as several events. A short answer is one packet, and its
 * headers wait for no longer than a commit on a fast disk takes.
 */
function uncorkSoon(sink: ResponseSink): void {
  queueMicrotask(() => process.nextTick(setImmediate, inThisTurn, sink));
}

function inThisTurn(sink: ResponseSink): void {
  sink.control?.flush?.();
  if (!sink.isEnded) setImmediate(inNextTurn, sink);
}

function inNextTurn(sink: ResponseSink): void {
  sink.control?.flush?.();
  sink.uncork();
}

const SINK = Symbol("sink");

type StreamedResponse = ServerResponse & { [SINK]?: ResponseSink };

// All streams share these listeners, because a stream may be open for long.
function onDrain(this: StreamedResponse): void {
  this[SINK]?.drained();
}

function onClose(this: StreamedResponse): void {
  this[SINK]?.control?.closed();
}

/** The response of a stream. */
class ResponseSink implements ByteSink {
  /** What the stream does when the client has read, or has left. */
  control: ByteStreamControl | undefined;
  readonly #exchange: Exchange;
  readonly #trailers: (() => HttpHeaders) | undefined;
  /** Whether `write` is the method of Node. */
  #isPlain: boolean | undefined;
  /** Created when the client is first behind: most streams never need it. */
  #watch: ((isBehind?: boolean) => void) | undefined;

  constructor(exchange: Exchange, trailers: (() => HttpHeaders) | undefined) {
    this.#exchange = exchange;
    this.#trailers = trailers;
  }

  /** Called after the headers, which decide it. */
  get #isChunked(): boolean {
    const { outgoing } = this.#exchange;
    return outgoing.chunkedEncoding && (this.#isPlain ??= !replacesWrite(outgoing));
  }

  write(piece: string | Uint8Array): boolean {
    const { outgoing } = this.#exchange;
    const isShort = typeof piece === "string" && piece.length <= ONE_PIECE;
    const isRead = isShort && this.#isChunked ? writeChunk(outgoing, piece) : outgoing.write(piece);
    if (!isRead) (this.#watch ??= watchReader(this.#exchange))();
    return isRead;
  }

  /** Also sends what was collected. */
  end(): void {
    const { outgoing } = this.#exchange;
    if (this.#trailers !== undefined) outgoing.addTrailers(this.#trailers());
    outgoing.end();
  }

  get isEnded(): boolean {
    return this.#exchange.outgoing.writableEnded;
  }

  /** Sends what was collected, unless the response has ended: another one may have the connection then. */
  uncork(): void {
    if (!this.isEnded) this.#exchange.outgoing.socket?.uncork();
  }

  abort(): void {
    this.#exchange.outgoing.destroy();
  }

  drained(): void {
    this.#watch?.(false);
    this.control?.drained();
  }
}

/** What is longer costs more to copy into one piece than to write in four. */
const ONE_PIECE = 4096;

/**
 * Writes a short text as one chunk (RFC 9112 §7.1) in one piece. Node would write four, which costs
 * more than all other work for an event.
 */
function writeChunk(outgoing: ServerResponse, text: string): boolean {
  const bytes = Buffer.byteLength(text);
  // An empty chunk would end the body.
  if (bytes === 0) return true;
  outgoing.chunkedEncoding = false;
  try {
    // Both encodings are the same for ASCII, and this one is faster.
    const encoding = bytes === text.length ? "latin1" : "utf8";
    return outgoing.write(`${bytes.toString(16)}\r\n${text}\r\n`, encoding);
  } finally {
    outgoing.chunkedEncoding = true;
  }
}

/** Whether something has replaced the method `write` of Node, as middleware does that compresses. */
function replacesWrite(outgoing: ServerResponse): boolean {
  let methods = 0;
  let holder: object | null = outgoing;
  for (; holder !== null; holder = Object.getPrototypeOf(holder) as object | null) {
    if (Object.hasOwn(holder, "write")) methods += 1;
  }
  return methods > 1;
}

/** What Express and Connect add to a request when they remove a prefix from its URL. */
interface RoutedRequest extends Pick<IncomingMessage, "url"> {
  readonly baseUrl?: unknown;
  readonly originalUrl?: unknown;
}

interface RequestLocation {
  /** The path and query below the base path. */
  readonly target: string;
  readonly basePath: string;
  /** The host, if the client sent a whole URL, as clients of proxies do. */
  readonly host?: string;
}

const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)/i;

/** Splits the URL of a request. `basePath` is the option of `mount`. */
export function locateRequest(incoming: RoutedRequest, basePath: string): RequestLocation {
  const { url = "/", baseUrl, originalUrl } = incoming;
  const absolute = url.startsWith("/") ? null : ABSOLUTE_FORM.exec(url);
  if (absolute !== null) {
    const [whole, host = ""] = absolute;
    const rest = url.slice(whole.length);
    const relative = rest.startsWith("/") ? rest : `/${rest}`;
    return { ...locateRequest({ url: relative, baseUrl, originalUrl }, basePath), host };
  }
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
