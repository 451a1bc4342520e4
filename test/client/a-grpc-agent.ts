import { once } from "node:events";
import { type IncomingHttpHeaders, type ServerHttp2Stream, createServer } from "node:http2";
import { type AddressInfo, type Socket, createServer as createNetServer } from "node:net";
import { onTestFinished } from "vitest";

/** How the agent handles a call. */
export type GrpcScript = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

export interface GrpcAgent {
  readonly card: Readonly<Record<string, unknown>>;
  /** The paths that were called. */
  readonly called: readonly string[];
  /** The number of connections. */
  readonly connections: number;
}

/** An HTTP/2 server with scripted responses. It closes with the test. */
export async function startGrpcAgent(script: GrpcScript, version = "1.0"): Promise<GrpcAgent> {
  const called: string[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer();
  server.on("connection", (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
  });
  server.on("sessionError", () => undefined);
  server.on("stream", (stream, headers) => {
    called.push(String(headers[":path"]));
    stream.on("error", () => undefined);
    script(stream, headers);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    card: {
      name: "Scripted",
      capabilities: { streaming: true },
      supportedInterfaces: [{ url, protocolBinding: "GRPC", protocolVersion: version }],
    },
    called,
    get connections() {
      return connections;
    },
  };
}

/** Responds with the messages and then the trailers. */
export function answer(
  stream: ServerHttp2Stream,
  messages: readonly Uint8Array[],
  trailers: Readonly<Record<string, string>> = { "grpc-status": "0" },
): void {
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ ...trailers }));
  for (const message of messages) stream.write(framed(message));
  stream.end();
}

/** An error without any message. */
export function refuse(stream: ServerHttp2Stream, headers: Readonly<Record<string, string>>): void {
  stream.respond(
    { ":status": 200, "content-type": "application/grpc", ...headers },
    { endStream: true },
  );
}

/** A flag and a length, followed by the message. */
export function framed(message: Uint8Array, flag = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(flag, 0);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** HTTP/2 frames after which no call is ever answered. */
export const STUCK = {
  /** SETTINGS_MAX_CONCURRENT_STREAMS is 0. */
  "accepts no streams": { first: frame(4, 0, "000300000000"), later: Buffer.alloc(0) },
  /** A call is answered with GOAWAY, and with a CONTINUATION that continues nothing. */
  "says goodbye and breaks the protocol": {
    first: frame(4, 0, ""),
    later: Buffer.concat([frame(7, 0, "0000000100000000"), frame(9, 1, "00")]),
  },
} as const;

/** An HTTP/2 server that leaves every call unanswered. It closes with the test. */
export async function startStuckAgent({
  first,
  later,
}: (typeof STUCK)[keyof typeof STUCK]): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createNetServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    // The request itself is the first frame with HEADERS (type 1).
    socket.on("data", (data) => {
      if (typesIn(data).includes(1)) socket.write(later);
    });
    socket.write(first);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const PREFACE = 24;

function frame(type: number, stream: number, payload: string): Buffer {
  const bytes = Buffer.from(payload, "hex");
  const head = Buffer.alloc(9);
  head.writeUIntBE(bytes.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, bytes]);
}

/** The types of the frames in a chunk that starts with a frame or with the preface. */
function typesIn(data: Buffer): readonly number[] {
  const types: number[] = [];
  let at = data.subarray(0, 3).toString() === "PRI" ? PREFACE : 0;
  while (at + 9 <= data.length) {
    types.push(data.readUInt8(at + 3));
    at += 9 + data.readUIntBE(at, 3);
  }
  return types;
}
