import { randomBytes } from "node:crypto";
import {
  A2AError,
  type ProtocolVersion,
  type TraceContext,
  invalidParams,
  parseTraceHeaders,
  parseVersion,
} from "@convoke/protocol";
import { MAX_TIMER_MS, fieldIn } from "@convoke/protocol/internal";
import type { Span } from "@convoke/engine/tracing";
import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";

/** A request, independent of its transport. */
export interface HttpRequest {
  /** Identifies the request in the log and in the header `X-Request-Id` of its response. */
  readonly id: string;
  readonly method: string;
  /** The path below the base path. */
  readonly path: string;
  /** The path under which an app has mounted the agent; empty for the root. */
  readonly basePath: string;
  /** The path of the agent that it addresses, such as "/agents/greeter". Absent at the root. */
  readonly agentPath?: string;
  readonly query: URLSearchParams;
  /** With names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Whether the connection uses HTTP/2, which gRPC requires. */
  readonly isHttp2: boolean;
  /** Whether this process has terminated TLS. */
  readonly isSecure: boolean;
  /** The request of `node:http`, with what an app has added to it, such as `user`. Absent for Fetch requests. */
  readonly node?: IncomingMessage;
  /** The request of the Fetch standard. Absent for requests of `node:http`. */
  readonly web?: Request;
  /** The span of the request. Absent if the process has no OpenTelemetry SDK. */
  readonly span?: Span;
  /** Reads the body. Rejects if it is too large. */
  body(): Promise<Uint8Array>;
}

export type HttpHeaders = Readonly<Record<string, string>>;

/** A response. Its body is complete, or a stream that the transport opens. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly body: string | Uint8Array | ByteStream;
  /** HTTP/2 trailers. Called at the end of the body. */
  readonly trailers?: () => HttpHeaders;
}

/** A body that is written as its content becomes available. */
export interface ByteStream {
  /** Starts to write. The transport reports the state of the client through the returned object. */
  open(sink: ByteSink): ByteStreamControl;
  /** Called instead of `open` if the client has disconnected before. */
  abandon?(): void;
}

export interface ByteSink {
  /** Returns false if the client is slow: write nothing more until `drained`. */
  write(piece: string | Uint8Array): boolean;
  end(): void;
  /** Disconnects the client, which would otherwise take what it has for the whole. */
  abort(): void;
}

export interface ByteStreamControl {
  /** The client has received what was written. */
  drained(): void;
  /** The client has disconnected. */
  closed(): void;
  /** The transport is about to send what was written: what is ready should be written now. */
  flush?(): void;
}

/** The value of a header, or the first of several. */
export function header(request: Pick<HttpRequest, "headers">, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === "string" ? value : value?.[0];
}

/** Ids that other systems use: UUIDs, trace ids, base64 without padding. Anything else is not logged. */
const SAFE_ID = /^[\w.:@/+-]{1,128}$/;

/** Accepts the request ids of clients and proxies, and creates ids for other requests. */
export function requestIds(): RequestHandler["requestId"] {
  const prefix = randomBytes(4).toString("hex");
  let requests = 0;
  return (given) =>
    given !== undefined && SAFE_ID.test(given) ? given : `${prefix}-${++requests}`;
}

/**
 * Headers that every response has: no type is guessed, no other site embeds it, no address of ours
 * is passed on, and no cache keeps what is meant for one caller. Responses that may be kept say so
 * themselves.
 */
const SECURITY_HEADERS: HttpHeaders = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

/** All headers of a response, as an object that the transport may add to. */
export function allHeaders({ headers }: HttpResponse, { id }: HttpRequest): Record<string, string> {
  return { ...SECURITY_HEADERS, ...headers, "x-request-id": id };
}

/** A response with a JSON text as its body. */
export function jsonResponse(
  status: number,
  text: string,
  headers: HttpHeaders = {},
): HttpResponse {
  return { status, headers: { "content-type": "application/json", ...headers }, body: text };
}

/** Tells clients when to repeat a request that failed for the moment. */
export function retryHeaders({ retryAfterMs }: A2AError): HttpHeaders {
  if (retryAfterMs === undefined) return {};
  return { "retry-after": String(Math.max(1, Math.ceil(retryAfterMs / 1000))) };
}

/** What the transports (Node, Fetch) need from the server. */
export interface RequestHandler {
  readonly handle: (request: HttpRequest) => Promise<HttpResponse>;
  /** The path under which the agent is mounted; empty for the root. */
  readonly basePath: string;
  readonly maxBodyBytes: number;
  /** The limit `unreadBytes`. */
  readonly maxUnreadBytes: number;
  readonly timeouts: Timeouts;
  /** The response to a request that is rejected before or after it is handled. */
  readonly reject: (request: HttpRequest, error: A2AError) => HttpResponse;
  /** A client has reached a limit of the transport. */
  readonly onLimit: (limit: string, fields: Readonly<Record<string, unknown>>) => void;
  /** The id of a request: the one in its `X-Request-Id` header, if that can be logged, or a new one. */
  readonly requestId: (given: string | undefined) => string;
  readonly onResponse: (facts: ResponseFacts) => void;
}

/** How long a client may take. All in milliseconds, and above 0. */
export interface Timeouts {
  /** To send the headers of a request, and for the TLS handshake. Default 30 s. */
  readonly headersMs: number;
  /** To send the body of a request. Default 2 minutes: 10 MiB at 0.7 Mbit/s. */
  readonly bodyMs: number;
  /** To read the next part of a response. Default 30 s. A stream without events is not affected. */
  readonly writeMs: number;
  /**
   * Between two requests of an HTTP/2 connection; it is then closed with GOAWAY. Default 5 minutes,
   * which is longer than proxies and gRPC clients keep an unused connection.
   */
  readonly idleMs: number;
}

const DEFAULT_TIMEOUTS: Timeouts = {
  headersMs: 30_000,
  bodyMs: 120_000,
  writeMs: 30_000,
  idleMs: 300_000,
};

/** Adds the defaults and validates the result. */
export function resolveTimeouts(options: Partial<Timeouts> = {}): Timeouts {
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options };
  for (const [name, ms] of Object.entries(timeouts)) {
    if (!(ms > 0 && ms <= MAX_TIMER_MS)) {
      throw new RangeError(`timeouts.${name} must be from 1 to ${MAX_TIMER_MS}, not ${ms}`);
    }
  }
  return timeouts;
}

/** What is logged about a request; nothing of its content. */
interface ResponseFacts {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
}

/** The trace of a request: its span if there is one, or the trace of the client with a new span. */
export function requestTrace(request: HttpRequest): TraceContext | undefined {
  if (request.span !== undefined) return request.span.trace;
  const trace = clientTrace(request);
  return trace && { ...trace, spanId: randomBytes(8).toString("hex") };
}

/** The trace that the client sent. */
export function clientTrace(request: Pick<HttpRequest, "headers">): TraceContext | undefined {
  return parseTraceHeaders(header(request, "traceparent"), header(request, "tracestate"));
}

/** The version in the header or the query of a request (1.0 §3.6.1). */
export function requestedVersion(request: HttpRequest): ProtocolVersion | undefined {
  return parseVersion(header(request, "a2a-version") ?? request.query.get("A2A-Version"));
}

/**
 * The maximum nesting depth of JSON. Decoding and encoding is recursive, so a
 * deeper body could exhaust the stack. A2A objects need less than a tenth of it.
 */
const MAX_DEPTH = 128;

/** Parses a body as JSON. */
export function parseJson(body: Uint8Array): unknown {
  if (!isUtf8(body)) throw new A2AError("JsonParse", "the body is not valid UTF-8");
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8");
  // A short body cannot nest that deep.
  if (text.length > 2 * MAX_DEPTH && nestingDepth(text) > MAX_DEPTH) {
    throw new A2AError("InvalidRequest", `the body nests deeper than ${MAX_DEPTH} levels`, {
      details: { limit: "jsonDepth", maximum: String(MAX_DEPTH) },
    });
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new A2AError("JsonParse", "the body is not valid JSON", { cause });
  }
}

/**
 * Rejects numbers such as 1e400, which are valid JSON but become infinite: they would be stored and
 * sent as null.
 */
export function checkNumbers(value: unknown, field = ""): void {
  if (!isFiniteDeep(value)) findInfinite(value, field);
}

/** Without the names of fields, which cost more than the check. */
function isFiniteDeep(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return true;
  // Not by the loop below, which takes ten times as long for a list.
  if (Array.isArray(value)) return value.every(isFiniteDeep);
  for (const name in value) {
    if (!isFiniteDeep((value as Readonly<Record<string, unknown>>)[name])) return false;
  }
  return true;
}

function findInfinite(value: unknown, field: string): void {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw invalidParams(field, "is a number beyond the range of a 64-bit float");
  }
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    value.forEach((item, index) => findInfinite(item, `${field}[${index}]`));
    return;
  }
  for (const [name, inner] of Object.entries(value)) findInfinite(inner, fieldIn(field, name));
}

const CLOSE_BRACE = 0x7d;

const OPEN_BRACE = 0x7b;

const CLOSE_BRACKET = 0x5d;

const OPEN_BRACKET = 0x5b;

const QUOTE = 0x22;

/** The maximum nesting depth of arrays and objects. Brackets inside strings do not count. */
function nestingDepth(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) index = endOfString(text, index);
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) deepest = Math.max(deepest, ++depth);
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
  }
  return deepest;
}

const BACKSLASH = 0x5c;

function endOfString(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === BACKSLASH) index++;
    else if (code === QUOTE) return index;
  }
  return text.length;
}

export function bodyTooLarge(maxBytes: number): A2AError {
  return new A2AError(
    "PayloadTooLarge",
    `the body is larger than ${maxBytes} bytes (the limit bodyBytes)`,
    {
      details: { limit: "bodyBytes", most: String(maxBytes) },
    },
  );
}

/** Other middleware has read the body without providing its content. */
export function bodyAlreadyRead(fix: string): Error {
  return new Error(`the body was read before the agent got the request: ${fix}`);
}

/** The client takes too long to send its body. */
export function bodyTooSlow(bodyMs: number): A2AError {
  const problem = `the body took longer than ${bodyMs} ms (the limit timeouts.bodyMs)`;
  return new A2AError("RequestTimeout", problem, {
    details: { limit: "timeouts.bodyMs", most: String(bodyMs) },
  });
}

/** Rejects a compressed body. */
export function checkEncoding(encoding: string | null | undefined): void {
  if (!encoding || encoding.toLowerCase() === "identity") return;
  const problem = `Content-Encoding is ${encoding}; send the body without compression`;
  throw new A2AError("UnsupportedMediaType", problem, { field: "Content-Encoding" });
}

/** The client disconnected before its body was complete. */
export function bodyCutOff(): A2AError {
  return new A2AError("InvalidRequest", "the body was cut off");
}
