import { once } from "node:events";
import type { Socket } from "node:net";
import {
  FLAG,
  FRAME,
  type Frame,
  PREFACE,
  encodeFrame,
  encodeHeaders,
} from "../../fuzz/http2-frames.ts";
import { NotApplicable } from "../attack.ts";
import type { Target } from "../target.ts";
import { openSocket } from "./raw.ts";

/** A connection of HTTP/2 on which any frame can be sent, in any order. */
export class Http2Connection {
  readonly socket: Socket;
  /** How many bytes have arrived. */
  received = 0;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on("data", (piece: Buffer) => {
      this.received += piece.length;
    });
  }

  /** Sends the preface and empty settings, if nothing else is asked for. */
  static async open(target: Target, first: readonly Frame[] = [{ type: FRAME.settings }]) {
    const connection = new Http2Connection(await openSocket(http2Origin(target)));
    connection.socket.write(PREFACE);
    await connection.send(first);
    return connection;
  }

  /** Whether the server still wants to read. */
  get isOpen(): boolean {
    return !this.socket.destroyed && this.socket.writable;
  }

  /** Sends frames in one packet, and waits until they are on their way or the server has hung up. */
  async send(frames: readonly Frame[]): Promise<void> {
    if (!this.isOpen) return;
    if (this.socket.write(Buffer.concat(frames.map(encodeFrame)))) return;
    const given = new AbortController();
    const { signal } = given;
    await Promise.race([
      once(this.socket, "drain", { signal }).catch(() => undefined),
      once(this.socket, "close", { signal }).catch(() => undefined),
      new Promise((resolve) => setTimeout(resolve, 2000).unref()),
    ]);
    given.abort();
  }

  close(): void {
    this.socket.destroy();
  }
}

/** Where the target speaks HTTP/2 without TLS: its gRPC. */
export function http2Origin({ interfaces }: Target): string {
  const grpc = interfaces.find(({ binding }) => binding === "grpc");
  if (grpc === undefined) throw new NotApplicable("HTTP/2");
  return grpc.url;
}

/** The headers of a request on a stream. */
export function headersFrame(
  streamId: number,
  headers: Readonly<Record<string, string>> = {},
  flags: number = FLAG.endHeaders | FLAG.endStream,
): Frame {
  const pseudo = { ":method": "GET", ":scheme": "http", ":path": "/", ":authority": "localhost" };
  return {
    type: FRAME.headers,
    flags,
    streamId,
    payload: encodeHeaders({ ...pseudo, ...headers }),
  };
}
