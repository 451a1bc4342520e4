import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type OutgoingHttpHeaders,
  connect,
} from "node:http2";
import type { Peer } from "./transport.ts";

/** How a call ended. */
export interface GrpcEnd {
  readonly status: number;
  readonly message: string;
  /** The google.rpc.Status that came with it, in bytes. */
  readonly details: Uint8Array | undefined;
}

/** What headers and trailers say together. */
interface Ending {
  readonly ":status"?: number;
  readonly "grpc-status"?: string;
  readonly "grpc-message"?: string;
  readonly "grpc-status-details-bin"?: string;
}

interface GrpcRequest {
  readonly server: Peer;
  readonly path: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly message: Uint8Array;
  /** Is told the metadata that come before the answer. */
  readonly onAnswer?: ((metadata: Readonly<Record<string, string>>) => void) | undefined;
}

/**
 * One call, byte by byte: a flag and a length before each message, and the status in trailers,
 * or in the headers where there is no message. Yields the messages and returns how it ended.
 */
export async function* grpcCall(request: GrpcRequest): AsyncGenerator<Uint8Array, GrpcEnd> {
  const session = connectTo(request.server);
  // What breaks the session breaks its stream as well, and that is where it is told.
  session.on("error", () => undefined);
  try {
    const stream = session.request(headersOf(request));
    const ended: Ending = {};
    stream.on("response", (headers) => {
      Object.assign(ended, headers);
      request.onAnswer?.(headers as Readonly<Record<string, string>>);
    });
    stream.on("trailers", (trailers) => Object.assign(ended, trailers));
    stream.end(framed(request.message));
    yield* messagesOf(stream);
    return endOf(ended);
  } finally {
    session.destroy();
  }
}

function connectTo({ url, ca }: Peer): ClientHttp2Session {
  // The certificates of tests are for localhost, whatever address they are reached by.
  return connect(url, ca === undefined ? {} : { ca, servername: "localhost" });
}

function headersOf({ path, metadata }: GrpcRequest): OutgoingHttpHeaders {
  return {
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc+proto",
    te: "trailers",
    ...metadata,
  };
}

const PREFIX = 5;

function framed(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(PREFIX);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

async function* messagesOf(stream: ClientHttp2Stream): AsyncGenerator<Uint8Array, void> {
  let rest = Buffer.alloc(0);
  for await (const piece of stream as AsyncIterable<Buffer>) {
    rest = Buffer.concat([rest, piece]);
    while (rest.length >= PREFIX && rest.length >= PREFIX + rest.readUInt32BE(1)) {
      const end = PREFIX + rest.readUInt32BE(1);
      if (rest.readUInt8(0) !== 0) throw new Error("The message is compressed");
      yield rest.subarray(PREFIX, end);
      rest = rest.subarray(end);
    }
  }
  if (rest.length > 0) throw new Error(`${rest.length} bytes are left over`);
}

function endOf(headers: Ending): GrpcEnd {
  const status = headers["grpc-status"];
  if (headers[":status"] !== 200 || status === undefined) {
    throw new Error(`The call has no end: ${JSON.stringify(headers)}`);
  }
  const details = headers["grpc-status-details-bin"];
  return {
    status: Number(status),
    message: decodeURIComponent(headers["grpc-message"] ?? ""),
    details: details === undefined ? undefined : Buffer.from(details, "base64"),
  };
}
