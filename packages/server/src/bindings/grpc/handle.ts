import {
  A2AError,
  CODECS,
  type Codec,
  GRPC_STATUS,
  PROTO_CODECS,
  type ProtocolVersion,
  type SpecPatch,
  isPublic,
} from "@convoke/protocol";
import { type App, addressAgent } from "../app.ts";
import { NOTHING_ACTIVE, activate, withHeaders } from "../extensions.ts";
import type { Admission } from "../../guard/admission.ts";
import { parseTenant, scopedCaller } from "../../guard/guard.ts";
import {
  type ByteStream,
  type HttpHeaders,
  type HttpRequest,
  type HttpResponse,
  header,
  requestedVersion,
} from "../../http/exchange.ts";
import { type EventStreamSource, type LogEntry, LogReader } from "@convoke/engine";
import { performOperation } from "../operations.ts";
import { EventStream, type Framing } from "../event-stream.ts";
import {
  type GrpcFrameProblem,
  GrpcFrameReader,
  frameGrpcMessage,
  startTimer,
} from "@convoke/protocol/internal";
import { GRPC_SERVICES, type GrpcMethod, encodeStatusDetails } from "@convoke/protocol/grpc";

/** The metadata field of each event with its cursor. A client sends it as metadata of the same name to resume. */
const CURSOR = "last-event-id";

export const HEADERS = { "content-type": "application/grpc+proto" } as const;

export const allocate = (size: number): Uint8Array => Buffer.allocUnsafe(size);

/** gRPC over HTTP/2, `a2a.v1` and `lf.a2a.v1` (0.3 §3.2.2, 1.0 §10). */
export async function handleGrpc(
  app: App,
  request: HttpRequest,
  admission: Admission,
): Promise<HttpResponse> {
  let activation = NOTHING_ACTIVE;
  admission.name("grpc", findMethod(request)?.operation ?? "other");
  try {
    const deadline = parseTimeout(header(request, "grpc-timeout"));
    const identified = await admission.identify();
    const found = findMethod(request);
    await admission.start("grpc", found?.operation);
    const opened = openGrpc(request, found);
    const { method, codec } = opened;
    const params = method.decodeRequest(readMessage(await request.body()));
    const target = addressAgent({ app, request, tenant: parseTenant(params) });
    const caller = scopedCaller(identified, target.tenant, app.tenants);
    const asking = { request: target.request, caller, version: codec.version };
    activation = await activate(target.app, asking);
    const performed = performOperation(target.app, {
      operation: method.operation,
      params,
      codec,
      caller,
      activation,
      request: target.request,
      lastEventId: header(request, CURSOR),
    });
    const outcome = await withDeadline(performed, deadline);
    const response =
      outcome.kind === "events"
        ? streamResponse(app, outcome.source, { ...opened, deadline })
        : unaryResponse(method.encodeResponse(outcome.value));
    return withHeaders(response, activation);
  } catch (thrown) {
    const error = admission.toError(thrown);
    return withHeaders(failedResponse(error, grpcVersionFor(request), app.specPatch), activation);
  }
}

/** The response of a call that failed before anything was sent. */
export function failedResponse(
  error: A2AError,
  version: ProtocolVersion,
  patch: SpecPatch,
): HttpResponse {
  const trailers = errorTrailers(error, version, patch);
  return { status: 200, headers: HEADERS, body: "", trailers: () => trailers };
}

/** The trailers of a successful call. */
export const OK_TRAILERS: HttpHeaders = { "grpc-status": "0" };

export function unaryResponse(message: Uint8Array): HttpResponse {
  return {
    status: 200,
    headers: HEADERS,
    body: frameGrpcMessage(message, allocate),
    trailers: () => OK_TRAILERS,
  };
}

function streamResponse(
  app: App,
  source: EventStreamSource,
  { method, codec, deadline }: OpenedGrpc & { readonly deadline: Deadline | undefined },
): HttpResponse {
  const framing = new GrpcFraming({ method, codec, app });
  const events = new EventStream({
    source,
    reader: new LogReader(source),
    framing,
    keepAlive: app.keepAlive,
  });
  return {
    status: 200,
    headers: HEADERS,
    body: deadline === undefined ? events : endAt(events, deadline),
    trailers: framing.trailers,
  };
}

/** When the client gives up, and how much time it gave, as it wrote it. */
interface Deadline {
  readonly at: number;
  readonly timeout: string;
}

/** The units of `grpc-timeout`, in milliseconds (gRPC over HTTP/2, "Timeout"). */
const UNITS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

function parseTimeout(timeout: string | undefined): Deadline | undefined {
  if (timeout === undefined) return undefined;
  const [, amount, unit = ""] = /^(\d{1,8})([HMSmun])$/.exec(timeout) ?? [];
  const ms = Number(amount) * (UNITS[unit] ?? NaN);
  if (!Number.isNaN(ms)) return { at: performance.now() + ms, timeout };
  throw new A2AError("InvalidRequest", `grpc-timeout ${JSON.stringify(timeout)} is not a timeout`);
}

function deadlineExceeded({ timeout }: Deadline): A2AError {
  return new A2AError("RequestTimeout", `the deadline of the client (${timeout}) has passed`);
}

/** The client no longer waits for the result. What it started continues. */
async function withDeadline<T>(work: Promise<T>, deadline: Deadline | undefined): Promise<T> {
  if (deadline === undefined) return work;
  const { promise: late, reject } = Promise.withResolvers<never>();
  const stop = startTimer(deadline.at - performance.now(), () =>
    reject(deadlineExceeded(deadline)),
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    stop();
  }
}

function endAt(events: EventStream, deadline: Deadline): ByteStream {
  return {
    open(sink) {
      const stop = startTimer(deadline.at - performance.now(), () =>
        events.fail(deadlineExceeded(deadline)),
      );
      const control = events.open({
        write: (piece) => sink.write(piece),
        end: () => (stop(), sink.end()),
        abort: () => (stop(), sink.abort()),
      });
      return {
        drained: () => control.drained(),
        closed: () => (stop(), control.closed()),
      };
    },
  };
}

/** A call whose method and version are known. */
interface OpenedGrpc {
  readonly method: GrpcMethod;
  readonly codec: Codec;
}

const VERSIONS = ["0.3", "1.0"] as const satisfies readonly ProtocolVersion[];

/** The version of the service in the path; 1.0 if it is unknown. */
function grpcVersionFor({ path }: HttpRequest): ProtocolVersion {
  return VERSIONS.find((version) => path.startsWith(`/${GRPC_SERVICES[version].name}/`)) ?? "1.0";
}

function findMethod(request: HttpRequest): GrpcMethod | undefined {
  const { methods } = GRPC_SERVICES[grpcVersionFor(request)];
  return methods.find(({ path }) => path === request.path);
}

/** The service determines the version; a header with another version is rejected. */
function openGrpc(request: HttpRequest, method: GrpcMethod | undefined): OpenedGrpc {
  const version = grpcVersionFor(request);
  if (!request.isHttp2) throw new A2AError("UnsupportedOperation", "gRPC needs HTTP/2");
  if (method === undefined || request.method !== "POST") {
    throw new A2AError("MethodNotFound", `there is no method ${request.path}`, {
      details: { method: request.path },
    });
  }
  const asked = requestedVersion(request);
  if (asked !== undefined && asked !== version) {
    throw new A2AError(
      "VersionNotSupported",
      `A2A-Version ${asked} does not fit ${GRPC_SERVICES[version].name}`,
      { details: { requested: asked, supported: version } },
    );
  }
  return { method, codec: PROTO_CODECS[version] };
}

interface Event {
  metadata?: Record<string, unknown>;
}

interface GrpcFramingOptions {
  readonly method: GrpcMethod;
  readonly codec: Codec;
  readonly app: App;
}

const NOTHING = new Uint8Array();

const LARGE_FRAMES = new WeakMap<LogEntry, Map<GrpcMethod, Uint8Array>>();

/** Encodes events as messages of a gRPC stream, which ends with trailers. */
class GrpcFraming implements Framing {
  /** Empty, because HTTP/2 connections are kept alive with pings. */
  readonly keepAlive = NOTHING;
  readonly #options: GrpcFramingOptions;
  #trailers: HttpHeaders = OK_TRAILERS;

  constructor(options: GrpcFramingOptions) {
    this.#options = options;
  }

  /** The status of the call, known when the stream has ended. */
  readonly trailers = (): HttpHeaders => this.#trailers;

  page(entries: readonly LogEntry[]): Uint8Array {
    return Buffer.concat(entries.map((entry) => this.#frame(entry)));
  }

  /** Streams of the same method get the same frame, so they share it until it is written. */
  pieces(entry: LogEntry): readonly Uint8Array[] {
    const { method } = this.#options;
    const frames = LARGE_FRAMES.get(entry) ?? new Map<GrpcMethod, Uint8Array>();
    LARGE_FRAMES.set(entry, frames);
    const frame = frames.get(method) ?? this.#frame(entry);
    frames.set(method, frame);
    return [frame];
  }

  error(thrown: unknown): Uint8Array {
    return this.#failed(this.#options.app.toA2AError(thrown));
  }

  reconnect(): Uint8Array {
    return this.#failed(new A2AError("Unavailable", "the server is stopping: subscribe again"));
  }

  /** An error is sent in the trailers. */
  #failed(error: A2AError): Uint8Array {
    const { app, codec } = this.#options;
    this.#trailers = errorTrailers(error, codec.version, app.specPatch);
    return NOTHING;
  }

  #frame(entry: LogEntry): Uint8Array {
    const response = this.#response(entry);
    if (response === undefined) return NOTHING;
    for (const event of Object.values(response)) {
      event.metadata = { ...event.metadata, [CURSOR]: String(entry.cursor) };
    }
    return frameGrpcMessage(this.#options.method.encodeResponse(response), allocate);
  }

  /** The event as an object of its own. A plain chunk, as most are, needs no text to be parsed. */
  #response(entry: LogEntry): Record<string, Event> | undefined {
    const { codec } = this.#options;
    const { event } = entry;
    if (entry.isPlainChunk && isPublic(event)) {
      return codec.encodeEvent(event) as Record<string, Event>;
    }
    const text = entry.text(codec);
    return text === undefined ? undefined : (JSON.parse(text) as Record<string, Event>);
  }
}

/** Reads the message of a request. None of our methods accepts a stream of messages. */
export function readMessage(body: Uint8Array): Uint8Array {
  const reader = new GrpcFrameReader({ maxBytes: body.length, fail: frameError });
  const [message, ...others] = reader.push(body);
  if (message !== undefined && others.length === 0 && !reader.isInside) return message;
  const isEmpty = message === undefined && !reader.isInside;
  const problem = isEmpty
    ? "the request has no message"
    : "the request must have exactly one message";
  throw new A2AError("InvalidRequest", problem);
}

/** A message that claims to be longer than the body is incomplete. */
export function frameError(problem: GrpcFrameProblem): A2AError {
  return problem === "compressed"
    ? new A2AError("UnsupportedOperation", "compressed messages are not supported; send identity")
    : new A2AError("InvalidRequest", "the request must have exactly one message");
}

/** The trailers of a failed call: its status and, in 1.0, details (1.0 §10.6). */
function errorTrailers(error: A2AError, version: ProtocolVersion, patch: SpecPatch): HttpHeaders {
  // 0.3 defines no gRPC status codes; its SDKs use the ones of 1.0.0.
  const { grpc } = error.statuses(version === "0.3" ? "1.0.0" : patch);
  const code = GRPC_STATUS.indexOf(grpc);
  const { message, data } = CODECS["1.0"].encodeError(error);
  const details = Array.isArray(data) ? (data as readonly object[]) : [];
  const status = encodeStatusDetails({ code, message, details });
  return {
    "grpc-status": String(code),
    "grpc-message": encodeMessage(message),
    // For clients that retry by themselves (gRFC A6).
    ...(error.retryAfterMs !== undefined && {
      "grpc-retry-pushback-ms": String(error.retryAfterMs),
    }),
    ...(version === "1.0" && {
      "grpc-status-details-bin": Buffer.from(status).toString("base64").replace(/=+$/, ""),
    }),
  };
}

/** Percent-encodes everything except printable ASCII (gRPC over HTTP/2, "Status-Message"). */
function encodeMessage(message: string): string {
  return Buffer.from(message)
    .toString("latin1")
    .replace(
      /[^\x20-\x24\x26-\x7e]/g,
      (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
    );
}
