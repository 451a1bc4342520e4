import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import { ClientError } from "@convoke/protocol";
import { GrpcFrameReader, frameGrpcMessage } from "@convoke/protocol/internal";
import { type HttpClient, unreachable } from "@convoke/egress/http";

/** More than any event of a sane agent. */
const MAX_BYTES = 64 * 1024 * 1024;

/** gRPC by the client's own connections; none where it has no HTTP/2, as in a browser or with a given `fetch`. */
export function openGrpcChannel(client: HttpClient): GrpcChannel | undefined {
  const openHttp2 = client.openHttp2?.bind(client);
  if (openHttp2 === undefined) return undefined;
  return { call: (call) => exchange(call, openHttp2) };
}

const NGHTTP2_REFUSED_STREAM = 7;
const NGHTTP2_CANCEL = 8;

async function* exchange(
  call: GrpcCall,
  openHttp2: NonNullable<HttpClient["openHttp2"]>,
): AsyncGenerator<Uint8Array, GrpcEnd, undefined> {
  const { url, signal } = call;
  const session = await openHttp2(url, { signal });
  signal?.throwIfAborted();
  const stream = begin(call, session);
  const ended: Record<string, unknown> = {};
  stream.on("response", (headers) => Object.assign(ended, headers));
  stream.on("trailers", (trailers) => Object.assign(ended, trailers));
  // Told where the stream is read; an error that comes later has nobody to tell.
  stream.on("error", () => undefined);
  const abort = () => stream.close(NGHTTP2_CANCEL);
  signal?.addEventListener("abort", abort, { once: true });
  try {
    stream.end(frameGrpcMessage(call.message));
    const reader = createReader();
    // Left open by the loop, so that the agent hears that the call was canceled.
    for await (const piece of stream.iterator({ destroyOnReturn: false })) {
      if (isForeign(ended)) break;
      refuseOtherType(url, ended);
      yield* reader.push(piece as Uint8Array);
    }
    signal?.throwIfAborted();
    refuseOtherType(url, ended);
    const end = endOf(ended);
    if (end !== undefined && !(reader.isInside && end.status === 0)) return end;
    throw new Error("it ended before the answer did");
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof ClientError) throw error;
    throw lost(url, stream, error);
  } finally {
    signal?.removeEventListener("abort", abort);
    if (!stream.closed) stream.close(NGHTTP2_CANCEL);
  }
}

function begin(call: GrpcCall, session: ClientHttp2Session): ClientHttp2Stream {
  try {
    return session.request({
      ":method": "POST",
      ":path": call.path,
      "content-type": "application/grpc",
      te: "trailers",
      ...call.metadata,
    });
  } catch (error) {
    // The session closed meanwhile, so nothing went out.
    const text = `could not reach ${call.url}: ${messageOf(error)}`;
    throw new ClientError("unreachable", text, { sent: false, cause: error });
  }
}

/** A stream that the agent refused was not looked at (RFC 9113 §8.7). */
function lost(url: string, stream: ClientHttp2Stream, error: unknown): ClientError {
  const { message } = unreachable(`the connection to ${url} was lost`, error);
  const isRefused = stream.rstCode === NGHTTP2_REFUSED_STREAM;
  return new ClientError("unreachable", message, {
    cause: error,
    ...(isRefused && { sent: false }),
  });
}

/** Whether a proxy answers in its own way; what it says is no message. */
function isForeign(ended: Readonly<Record<string, unknown>>): boolean {
  return ended[":status"] !== 200;
}

/** A page for people would be read as a message, and said to be anything but a page. */
function refuseOtherType(url: string, ended: Readonly<Record<string, unknown>>): void {
  const type = ended["content-type"];
  if (isForeign(ended) || "grpc-status" in ended || typeof type !== "string") return;
  if (type.startsWith("application/grpc")) return;
  throw new ClientError("unreadable", `the answer of ${url} is ${type} and not gRPC`);
}

/** What headers and trailers say together; undefined when the end never came. */
function endOf(ended: Readonly<Record<string, unknown>>): GrpcEnd | undefined {
  const httpStatus = Number(ended[":status"] ?? 0);
  const status = ended["grpc-status"];
  if (status === undefined && (httpStatus === 200 || httpStatus === 0)) return undefined;
  const headers = Object.fromEntries(
    Object.entries(ended).map(([name, value]) => [name, [value].flat().join(", ")]),
  );
  const details = headers["grpc-status-details-bin"];
  return {
    httpStatus,
    status: status === undefined ? undefined : Number(status),
    message: percentDecoded(headers["grpc-message"] ?? ""),
    details: details === undefined ? undefined : bytesOf(details),
    headers,
  };
}

/** Base64, whose padding may be left out. */
function bytesOf(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(text), (letter) => letter.codePointAt(0) ?? 0);
  } catch {
    return undefined;
  }
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function createReader(): GrpcFrameReader {
  return new GrpcFrameReader({
    maxBytes: MAX_BYTES,
    fail: (problem) =>
      unreadable(
        problem === "compressed"
          ? "is compressed, which was not asked for"
          : `is larger than ${MAX_BYTES} bytes`,
      ),
  });
}

function unreadable(problem: string): ClientError {
  return new ClientError("unreadable", `a gRPC message of the agent ${problem}`);
}

/** One call as gRPC has it over HTTP/2. */
interface GrpcCall {
  /** The origin counts; gRPC has its paths at the root. */
  readonly url: string;
  /** Such as `/a2a.v1.A2AService/SendMessage`. */
  readonly path: string;
  /** Metadata, with names in lower case. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly message: Uint8Array;
  readonly signal?: AbortSignal | undefined;
}

/** How a call ended. */
export interface GrpcEnd {
  /** Other than 200 when something before the agent answered, such as a proxy. */
  readonly httpStatus: number;
  /** gRPC's own number; undefined when the answer has none. */
  readonly status: number | undefined;
  readonly message: string;
  /** The google.rpc.Status that came with it, in bytes. */
  readonly details: Uint8Array | undefined;
  /** Headers and trailers together, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The way out for gRPC. Browsers have none: they cannot read the trailers of HTTP/2. */
export interface GrpcChannel {
  /**
   * Yields the messages of the answer and returns how it ended. Rejects with a
   * `ClientError` when there is no connection or it was lost. Leaving the loop
   * ends the call.
   */
  call(call: GrpcCall): AsyncGenerator<Uint8Array, GrpcEnd, undefined>;
}
