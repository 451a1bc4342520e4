import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import { ClientError } from "@convoke/protocol";
import { GrpcFrameReader, frameGrpcMessage } from "@convoke/protocol/internal";
import { type HttpClient, unreachable } from "@convoke/egress/http";
import type { AnswerHead } from "./transport.ts";

/** gRPC over the client's connections; `undefined` without HTTP/2, as in browsers or with a custom `fetch`. */
export function openGrpcChannel(client: HttpClient): GrpcChannel | undefined {
  const openHttp2 = client.openHttp2?.bind(client);
  if (openHttp2 === undefined) return undefined;
  return { call: (call) => exchange(call, openHttp2) };
}

const NGHTTP2_CANCEL = 8;

async function* exchange(
  call: GrpcCall,
  openHttp2: NonNullable<HttpClient["openHttp2"]>,
): AsyncGenerator<Uint8Array, GrpcEnd, undefined> {
  const { url, signal } = call;
  const session = await openHttp2(url, { signal });
  signal?.throwIfAborted();
  const stream = startStream(call, session);
  const ended: Record<string, unknown> = {};
  stream.on("response", (headers) => {
    Object.assign(ended, headers);
    call.onHead(headers as AnswerHead);
  });
  stream.on("trailers", (trailers) => Object.assign(ended, trailers));
  // The reader of the stream sees errors; one that comes later is ignored.
  stream.on("error", () => undefined);
  const abort = () => cancel(stream);
  signal?.addEventListener("abort", abort, { once: true });
  try {
    stream.end(frameGrpcMessage(call.message));
    const reader = createReader();
    // Not destroyed by the loop, so that the agent receives the cancellation first.
    for await (const piece of stream.iterator({ destroyOnReturn: false })) {
      if (isNotFromAgent(ended)) break;
      rejectOtherType(url, ended);
      yield* reader.push(piece as Uint8Array);
    }
    signal?.throwIfAborted();
    rejectOtherType(url, ended);
    const end = parseEnd(ended);
    if (end !== undefined && !(reader.isInside && end.status === 0)) return end;
    throw new Error("it ended before the response was complete");
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof ClientError) throw error;
    throw lost(url, stream, error);
  } finally {
    signal?.removeEventListener("abort", abort);
    if (!stream.closed) cancel(stream);
  }
}

/**
 * Cancels the call at the agent and ends the stream here. `close` alone is not enough: it waits for a
 * frame that is never sent if the agent accepts no streams or the session has failed.
 */
function cancel(stream: ClientHttp2Stream): void {
  stream.close(NGHTTP2_CANCEL);
  setImmediate(() => stream.destroy());
}

function startStream(call: GrpcCall, session: ClientHttp2Session): ClientHttp2Stream {
  try {
    return session.request({
      ":method": "POST",
      ":path": call.path,
      "content-type": "application/grpc",
      te: "trailers",
      ...call.metadata,
    });
  } catch (error) {
    // The session closed meanwhile; nothing was sent.
    const text = `could not reach ${call.url}: ${messageOf(error)}`;
    throw new ClientError("unreachable", text, { sent: false, cause: error });
  }
}

const NGHTTP2_REFUSED_STREAM = 7;

/** A refused stream was not processed (RFC 9113 §8.7). */
function lost(url: string, stream: ClientHttp2Stream, error: unknown): ClientError {
  const { message } = unreachable(`the connection to ${url} was lost`, error);
  const isRefused = stream.rstCode === NGHTTP2_REFUSED_STREAM;
  return new ClientError("unreachable", message, {
    cause: error,
    ...(isRefused && { sent: false }),
  });
}

/** Whether a proxy responded; its body is not a gRPC message. */
function isNotFromAgent(ended: Readonly<Record<string, unknown>>): boolean {
  return ended[":status"] !== 200;
}

/** Rejects an HTML page, which would otherwise fail with a misleading frame error. */
function rejectOtherType(url: string, ended: Readonly<Record<string, unknown>>): void {
  const type = ended["content-type"];
  if (isNotFromAgent(ended) || "grpc-status" in ended || typeof type !== "string") return;
  if (type.startsWith("application/grpc")) return;
  throw new ClientError("unreadable", `the response from ${url} is ${type} and not gRPC`);
}

/** The end of a call, from headers and trailers; `undefined` if it is missing. */
function parseEnd(ended: Readonly<Record<string, unknown>>): GrpcEnd | undefined {
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
    details: details === undefined ? undefined : decodeBase64(details),
    headers,
  };
}

/** Base64, with or without padding. */
function decodeBase64(text: string): Uint8Array | undefined {
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

/** More than any event of a sane agent needs. */
const MAX_BYTES = 64 * 1024 * 1024;

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

/** A gRPC call. */
interface GrpcCall {
  /** Only its origin is used; gRPC paths start at the root. */
  readonly url: string;
  /** Such as `/a2a.v1.A2AService/SendMessage`. */
  readonly path: string;
  /** Metadata, with names in lower case. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly message: Uint8Array;
  readonly signal?: AbortSignal | undefined;
  readonly onHead: (headers: AnswerHead) => void;
}

/** How a call ended. */
export interface GrpcEnd {
  /** Not 200 if a proxy responded instead of the agent. */
  readonly httpStatus: number;
  /** The gRPC status; `undefined` if the response has none. */
  readonly status: number | undefined;
  readonly message: string;
  /** The encoded google.rpc.Status, if there is one. */
  readonly details: Uint8Array | undefined;
  /** Headers and trailers together, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Makes gRPC calls. Not available in browsers, which cannot read HTTP/2 trailers. */
export interface GrpcChannel {
  /**
   * Yields the messages of the response and returns its end. Rejects with a `ClientError` if there is
   * no connection or it was lost. Leaving the loop ends the call.
   */
  call(call: GrpcCall): AsyncGenerator<Uint8Array, GrpcEnd, undefined>;
}
