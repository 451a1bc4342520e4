import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from "node:http2";
import { createEgress } from "@convoke/egress";
import { GRPC_STATUS } from "@convoke/protocol";
import { GRPC_SERVICES, type GrpcMethod, decodeStatusDetails } from "@convoke/protocol/grpc";
import { GrpcFrameReader, frameGrpcMessage } from "@convoke/protocol/internal";
import {
  type Call,
  type ErrorResponse,
  type OpenStream,
  type StreamItem,
  type WireClient,
  type WireHeaders,
  type WireResponse,
  type WireSession,
  requestHeaders,
  withTenant,
} from "./client.ts";
import { type WireError, reasonInDetails } from "./errors.ts";
import {
  type Exchange,
  Failed,
  MAX_BYTES,
  Skipped,
  checkStreamSize,
  readableRequest,
} from "./exchange.ts";
import { networkErrorMessage } from "./http.ts";

/** How a gRPC call ended. */
export interface GrpcStatus {
  readonly status: number;
  readonly message: string;
  /** The encoded google.rpc.Status, if the server sent one. */
  readonly details: Uint8Array | undefined;
  /** Headers and trailers together. */
  readonly headers: WireHeaders;
}

type Messages = AsyncGenerator<Uint8Array, GrpcStatus>;

/** A raw gRPC client. Its params and results are the ProtoJSON of the messages. */
export class GrpcClient implements WireClient {
  readonly binding = "grpc";
  readonly version;
  readonly #session: WireSession;

  constructor(session: WireSession) {
    this.#session = session;
    this.version = session.target.version;
  }

  async call(call: Call): Promise<WireResponse> {
    const method = this.#findMethod(call);
    const { messages, end } = await readAll(this.#send(method, call));
    const results = messages.map((bytes) => decode(method, bytes));
    const exchange = this.#recordEnd(results, end);
    if (end.status !== 0) return this.#toErrorResponse(end);
    if (results.length !== 1) throw new Failed("one message and the status OK", exchange);
    const [result] = results;
    return { kind: "result", result, body: result, headers: end.headers, exchange };
  }

  async open(call: Call): Promise<OpenStream | ErrorResponse> {
    const method = this.#findMethod(call);
    const headers: Record<string, string> = {};
    const messages = this.#send(method, call, headers);
    const first = await messages.next();
    if (first.done === true && first.value.status !== 0) {
      this.#recordEnd([], first.value);
      return this.#toErrorResponse(first.value);
    }
    return { kind: "stream", headers, events: readEvents(method, first, messages) };
  }

  /** Sends any bytes to any method. */
  async raw(path: string, message: Uint8Array): Promise<GrpcStatus> {
    const metadata = requestHeaders(this.#session.target, {});
    this.#session.transcript.recordSent(`gRPC ${path} with ${message.length} bytes`);
    const { end } = await readAll(
      callGrpc({ ...this.#session, path, metadata, message, seen: {} }),
    );
    this.#recordEnd([], end);
    return end;
  }

  #findMethod({ operation }: Call): GrpcMethod {
    const method = GRPC_SERVICES[this.version].methods.find((row) => row.operation === operation);
    if (method === undefined) throw new Skipped(`gRPC ${this.version} has no such operation`);
    return method;
  }

  /** `seen` receives the headers and trailers of the response as they arrive. */
  #send(method: GrpcMethod, call: Call, seen: Record<string, string> = {}): Messages {
    const { target, transcript } = this.#session;
    const params = withTenant(call.params, target.tenant);
    const metadata = requestHeaders(target, call);
    transcript.recordSent(readableRequest(`gRPC ${method.path}`, metadata, JSON.stringify(params)));
    const message = method.encodeRequest(params);
    return callGrpc({ ...this.#session, path: method.path, metadata, message, seen });
  }

  #recordEnd(messages: readonly unknown[], { status, message }: GrpcStatus): Exchange {
    const bodies = messages.map((json) => JSON.stringify(json)).join(" ");
    return this.#session.transcript.recordReceived(`${statusName(status)} ${message} ${bodies}`);
  }

  #toErrorResponse(end: GrpcStatus): ErrorResponse {
    const exchange = this.#session.transcript.last;
    return { kind: "error", error: toError(end), body: undefined, headers: end.headers, exchange };
  }
}

async function* readEvents(
  method: GrpcMethod,
  first: IteratorResult<Uint8Array, GrpcStatus>,
  messages: Messages,
): AsyncGenerator<StreamItem, void> {
  try {
    for (let next = first; ; next = await messages.next()) {
      if (next.done === true) {
        if (next.value.status === 0) return;
        const envelope = statusName(next.value.status);
        yield { id: "", json: undefined, envelope, error: toError(next.value) };
        return;
      }
      const json = decode(method, next.value);
      yield { id: "", json, envelope: json };
    }
  } finally {
    await messages.return({ status: 0, message: "", details: undefined, headers: {} });
  }
}

async function readAll(
  frames: Messages,
): Promise<{ readonly messages: readonly Uint8Array[]; readonly end: GrpcStatus }> {
  const messages: Uint8Array[] = [];
  for (;;) {
    const { done, value } = await frames.next();
    if (done === true) return { messages, end: value };
    messages.push(value);
  }
}

function decode(method: GrpcMethod, bytes: Uint8Array): unknown {
  try {
    return method.decodeResponse(bytes);
  } catch {
    throw new Failed(`a message of the response type of ${method.name}`);
  }
}

function toError({ status, message, details: bytes }: GrpcStatus): WireError {
  const details = decodeDetails(bytes);
  const auth = status === 16 ? "Unauthenticated" : status === 7 ? "Forbidden" : undefined;
  return { message, grpc: status, reason: auth ?? reasonInDetails(details), details };
}

/** Details that cannot be decoded count as none; a probe of its own reports them. */
function decodeDetails(bytes: Uint8Array | undefined): readonly unknown[] {
  try {
    return bytes === undefined ? [] : decodeStatusDetails(bytes).details;
  } catch {
    return [];
  }
}

/** For example `NOT_FOUND (5)`. */
function statusName(status: number): string {
  return `${GRPC_STATUS[status] ?? "not a gRPC status"} (${status})`;
}

interface GrpcRequest extends WireSession {
  readonly path: string;
  readonly metadata: WireHeaders;
  readonly message: Uint8Array;
  readonly seen: Record<string, string>;
}

/** The path that comes before the name of the service; empty for the root. */
function basePath(url: string): string {
  return new URL(url).pathname.replace(/\/+$/, "");
}

/**
 * One call, byte by byte. Yields the messages and returns how the call ended. The status is in the
 * trailers, or in the headers of a response without messages.
 */
async function* callGrpc(request: GrpcRequest): Messages {
  const { target, signal, transcript, path, metadata, message, seen } = request;
  const broken: { error?: Error } = {};
  // All origins are trusted: the user has typed or allowed each of them.
  const egress = createEgress({ trusted: [target.url] });
  let session: ClientHttp2Session | undefined;
  const stop = (): void => session?.destroy();
  signal.addEventListener("abort", stop);
  try {
    session = await egress.openHttp2(target.url, { signal });
    recordFailure(session, broken);
    const stream = session.request({
      ":method": "POST",
      ":path": basePath(target.url) + path,
      "content-type": "application/grpc+proto",
      te: "trailers",
      ...metadata,
    });
    const collect = (headers: IncomingHttpHeaders): void => {
      for (const [name, value] of Object.entries(headers)) seen[name] = String(value);
    };
    stream.on("response", collect);
    stream.on("trailers", collect);
    // Errors of the stream are thrown while reading it.
    stream.on("error", () => undefined);
    stream.end(frameGrpcMessage(message));
    yield* readMessages(stream);
    signal.throwIfAborted();
    if (broken.error !== undefined && seen["grpc-status"] === undefined) throw broken.error;
    return toStatus(seen);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Skipped) throw error;
    if (error instanceof Failed) {
      if (error.exchange !== undefined) throw error;
      throw new Failed(error.expected, transcript.recordReceived(describeHead(seen)));
    }
    const received = `no response: ${networkErrorMessage(broken.error ?? error)}`;
    throw new Failed("a gRPC response", transcript.recordReceived(received));
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
    egress.close();
  }
}

async function* readMessages(stream: ClientHttp2Stream): AsyncGenerator<Uint8Array, void> {
  const reader = new GrpcFrameReader({
    maxBytes: MAX_BYTES,
    fail: (problem) =>
      new Failed(
        problem === "compressed"
          ? "a message that is not compressed"
          : `a response of at most ${MAX_BYTES} bytes`,
      ),
  });
  let length = 0;
  for await (const piece of stream as AsyncIterable<Buffer>) {
    length += piece.length;
    checkStreamSize(length);
    yield* reader.push(piece);
  }
  if (reader.isInside) throw new Failed("gRPC messages, each with its length prefix");
}

function toStatus(seen: WireHeaders): GrpcStatus {
  const status = seen["grpc-status"];
  if (status === undefined || !/^\d+$/.test(status)) {
    throw new Failed("a gRPC response that ends with a grpc-status");
  }
  const details = seen["grpc-status-details-bin"];
  return {
    status: Number(status),
    message: decodePercent(seen["grpc-message"] ?? ""),
    details: details === undefined ? undefined : Buffer.from(details, "base64"),
    headers: seen,
  };
}

function describeHead(seen: WireHeaders): string {
  const type = seen["content-type"] ?? "without a content type";
  return `HTTP ${seen[":status"] ?? "without a status"} ${type}`;
}

/** The error of a session also ends its streams, but their errors say less about the reason. */
function recordFailure(session: ClientHttp2Session, broken: { error?: Error }): void {
  session.on("error", (error: Error) => {
    broken.error = error;
  });
}

function decodePercent(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch {
    return message;
  }
}
