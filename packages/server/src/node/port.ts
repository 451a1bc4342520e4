import { type Server as HttpServer, createServer as createHttp } from "node:http";
import {
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
  createServer as createHttp2,
} from "node:http2";
import { type Server, type Socket, createServer as createNet } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type TLSSocket, createServer as createTls } from "node:tls";
import { SniffedSockets } from "./sniffed-sockets.ts";
import type { NodeListener } from "./node-listener.ts";

/** How long a reader may take for the last bytes of an answer. */
const FLUSH_MS = 250;

/** How long a client may keep its side open after an HTTP/2 session has ended ours. */
const HALF_OPEN_MS = 2000;

/** More at a time than a browser or a gRPC client opens on one connection. */
const MAX_STREAMS = 1000;

/** Node's types know nothing of the likeness of its two kinds of requests. */
type Http2Listener = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

/** A certificate and its key, as text in PEM. */
export interface TlsOptions {
  readonly cert: string;
  readonly key: string;
}

export interface PortOptions {
  readonly listener: NodeListener;
  readonly tls?: TlsOptions | undefined;
  /** Called for each connection of HTTP/2; returns what to call when it is gone. */
  readonly onSession: (session: ServerHttp2Session) => () => void;
}

/**
 * One port for HTTP/1.1 and HTTP/2. Without TLS the first bytes of a connection
 * tell which it is; with TLS both sides agree on it beforehand (ALPN).
 */
export class Port {
  readonly net: Server;
  readonly #http: HttpServer;
  readonly #http2: Http2Server;
  readonly #sniffed = new SniffedSockets((socket, isHttp2) => this.#adopt(socket, isHttp2));
  readonly #sessions = new Set<ServerHttp2Session>();

  constructor({ listener, tls, onSession }: PortOptions) {
    this.#http = createHttp(listener);
    const settings = { maxConcurrentStreams: MAX_STREAMS };
    const http2Listener = listener as unknown as Http2Listener;
    this.#http2 = createHttp2({ settings }, http2Listener);
    this.#http2.on("checkContinue", (request, response) => {
      // What Node does by default throws if the stream was reset meanwhile, which ends the process.
      const { destroyed, closed } = response.stream;
      if (!destroyed && !closed) response.writeContinue();
      http2Listener(request, response);
    });
    this.#http2.on("session", (session) => {
      const gone = onSession(session);
      this.#sessions.add(session);
      session.on("error", () => undefined);
      session.on("close", () => {
        this.#sessions.delete(session);
        gone();
      });
    });
    // As node:http does it: a client may end its side before it has read the answer.
    const options = { allowHalfOpen: true, noDelay: true };
    this.net =
      tls === undefined
        ? createNet(options, (socket) => this.#sniffed.add(socket))
        : createTls({ ...options, ...tls, ALPNProtocols: ["h2", "http/1.1"] }, (socket) =>
            this.#adopt(socket, socket.alpnProtocol === "h2"),
          );
  }

  /** Lets answers that are written reach their readers, then hangs up. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.net.close(resolve));
    this.#sniffed.close();
    this.#http.closeIdleConnections();
    for (const session of this.#sessions) session.close();
    await Promise.race([closed, sleep(FLUSH_MS, undefined, { ref: false })]);
    this.closeAllConnections();
  }

  closeAllConnections(): void {
    this.#sniffed.close();
    this.#http.closeAllConnections();
    for (const session of this.#sessions) session.destroy();
    this.#http2.close();
    this.#http.close();
  }

  #adopt(socket: Socket | TLSSocket, isHttp2: boolean): void {
    if (isHttp2) limitHalfOpen(socket);
    (isHttp2 ? this.#http2 : this.#http).emit("connection", socket);
  }
}

/**
 * A session that was closed gracefully ends its side of the socket and waits for the client to
 * close the other one. A client that never does must not hold the descriptor.
 */
function limitHalfOpen(socket: Socket): void {
  socket.once("finish", () => {
    const timer = setTimeout(() => socket.destroy(), HALF_OPEN_MS).unref();
    socket.once("close", () => clearTimeout(timer));
  });
}
