import { GRPC_STATUS } from "@convoke/protocol";
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from "node:http2";
import { createEgress } from "@convoke/egress";
import { Failed } from "../verdict.ts";
import type { Conversation, WireHeaders } from "./call.ts";
import { whyUnreachable } from "./why-unreachable.ts";
import { MAX_BYTES } from "./limits.ts";

const PREFIX = 5;

/** How a call ended. */
export interface GrpcEnd {
  readonly status: number;
  readonly message: string;
  /** The google.rpc.Status that came with it, in bytes. */
  readonly details: Uint8Array | undefined;
  /** Headers and trailers together. */
  readonly headers: WireHeaders;
}

interface GrpcRequest extends Conversation {
  readonly path: string;
  readonly metadata: WireHeaders;
  readonly message: Uint8Array;
}

/**
 * One call, byte by byte: the status is in the trailers, or in the headers where there is no
 * message. Yields the messages and returns how it ended.
 */
export async function* grpcCall(request: GrpcRequest): AsyncGenerator<Uint8Array, GrpcEnd> {
  const { target, signal, transcript, path, metadata, message } = request;
  const seen: Record<string, string> = {};
  const broken: { error?: Error } = {};
  // The operator has typed or allowed every origin that is spoken to.
  const way = createEgress({ trusted: [target.url] });
  let session: ClientHttp2Session | undefined;
  const stop = (): void => session?.destroy();
  signal.addEventListener("abort", stop);
  try {
    session = await way.openHttp2(target.url, { signal });
    noteFailure(session, broken);
    const stream = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc+proto",
      te: "trailers",
      ...metadata,
    });
    const note = (headers: IncomingHttpHeaders): void => {
      for (const [name, value] of Object.entries(headers)) seen[name] = String(value);
    };
    stream.on("response", note);
    stream.on("trailers", note);
    // What breaks the stream is thrown where it is read.
    stream.on("error", () => undefined);
    stream.end(framed(message));
    yield* framesOf(stream);
    signal.throwIfAborted();
    if (broken.error !== undefined && seen["grpc-status"] === undefined) throw broken.error;
    return endOf(seen);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Failed) {
      throw error.exchange ? error : new Failed(error.expected, transcript.heard(headOf(seen)));
    }
    const why = whyUnreachable(broken.error ?? error);
    throw new Failed("an answer in gRPC", transcript.heard(`no answer: ${why}`));
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
    way.close();
  }
}

function endOf(seen: WireHeaders): GrpcEnd {
  const status = seen["grpc-status"];
  if (status === undefined || !/^\d+$/.test(status)) {
    throw new Failed("an answer in gRPC that ends with a grpc-status");
  }
  const details = seen["grpc-status-details-bin"];
  return {
    status: Number(status),
    message: decoded(seen["grpc-message"] ?? ""),
    details: details === undefined ? undefined : Buffer.from(details, "base64"),
    headers: seen,
  };
}

/** As much as headers tell. */
function headOf(seen: WireHeaders): string {
  const type = seen["content-type"] ?? "without a content type";
  return `HTTP ${seen[":status"] ?? "without a status"} ${type}`;
}

/** What ends the session ends its streams as well, with less to say about it. */
function noteFailure(session: ClientHttp2Session, broken: { error?: Error }): void {
  session.on("error", (error: Error) => {
    broken.error = error;
  });
}

function decoded(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch {
    return message;
  }
}

/** Such as `NOT_FOUND (5)`. */
export function statusName(status: number): string {
  return `${GRPC_STATUS[status] ?? "no status of gRPC"} (${status})`;
}

/** A message with the flag and the length before it. */
function framed(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(PREFIX);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** The messages of an answer, as they come. */
async function* framesOf(stream: ClientHttp2Stream): AsyncGenerator<Uint8Array, void> {
  let rest: Buffer = Buffer.alloc(0);
  let length = 0;
  for await (const piece of stream as AsyncIterable<Buffer>) {
    length += piece.length;
    if (length > MAX_BYTES) throw new Failed(`an answer of at most ${MAX_BYTES} bytes`);
    rest = Buffer.concat([rest, piece]);
    while (rest.length >= PREFIX && rest.length >= PREFIX + rest.readUInt32BE(1)) {
      const end = PREFIX + rest.readUInt32BE(1);
      if (rest.readUInt8(0) !== 0) throw new Failed("a message that is not compressed");
      yield rest.subarray(PREFIX, end);
      rest = rest.subarray(end);
    }
  }
  if (rest.length > 0) throw new Failed("messages of gRPC, each with its length before it");
}
