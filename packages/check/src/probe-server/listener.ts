import { once } from "node:events";
import { type RequestListener, createServer as createHttp } from "node:http";
import { type ServerHttp2Stream, createServer as createHttp2 } from "node:http2";
import { type AddressInfo, type Server, type Socket, createServer as createNet } from "node:net";

export interface Handlers {
  readonly http: RequestListener;
  /** Takes gRPC calls. Default: there are none. */
  readonly grpc?: (stream: ServerHttp2Stream, headers: Readonly<Record<string, unknown>>) => void;
}

/** A loopback port for HTTP/1.1 and, on the same port, for gRPC without TLS. */
export class Listener {
  readonly #net: Server;
  readonly #sockets = new Set<Socket>();

  constructor({ http: onRequest, grpc: onStream }: Handlers) {
    const http = createHttp(onRequest);
    const http2 = createHttp2();
    http2.on("sessionError", () => undefined);
    http2.on("stream", (stream, headers) => {
      stream.on("error", () => undefined);
      onStream?.(stream, headers);
    });
    this.#net = createNet({ noDelay: true }, (socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => this.#sockets.delete(socket));
      socket.once("readable", () => {
        const first = socket.read() as Buffer | null;
        if (first === null) return;
        socket.unshift(first);
        // Every HTTP/2 connection without TLS starts with "PRI" (RFC 9113 §3.4).
        const isHttp2 = first.toString("latin1", 0, 3) === "PRI";
        (isHttp2 ? http2 : http).emit("connection", socket);
      });
    });
  }

  /** Resolves to the port. */
  async listen(port: number): Promise<number> {
    this.#net.listen(port, "127.0.0.1");
    await once(this.#net, "listening");
    return (this.#net.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    const closed = once(this.#net, "close");
    this.#net.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}
