import { type Server as HttpServer, createServer as createHttp } from "node:http";
import {
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
  createServer as createHttp2,
} from "node:http2";
import { createServer as createNet, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type TLSSocket, createServer as createTls } from "node:tls";
import type { NodeListener } from "./node-listener.ts";

/** How an HTTP/2 connection begins when nothing was agreed on before (RFC 9113 §3.4). No method of HTTP/1 does. */
const PREFACE = "PRI";

const NOTHING = Buffer.alloc(0);

/** How long a connection may stay without a word. */
const PATIENCE_MS = 60_000;

/** How long a reader may take for the last bytes of an answer. */
const FLUSH_MS = 250;

/** How long one side of an HTTP/2 connection may stay open, or silent, once the other has ended. */
const HALF_OPEN_MS = 4000;

/** Longer than proxies and gRPC clients keep a connection they do not use; they open another one. */
const IDLE_MS = 5 * 60_000;

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
  /**
   * Closes an HTTP/2 connection that has had no open stream for this long. Default 5 minutes. A
   * connection with an open stream stays, however long nothing happens on it.
   */
  readonly idleMs?: number;
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
  readonly #idleMs: number;

  constructor({ listener, tls, onSession, idleMs = IDLE_MS }: PortOptions) {
    this.#idleMs = idleMs;
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
    this.net =
      tls === undefined
        ? // As node:http does it: a client may end its side before it has read the answer.
          createNet({ allowHalfOpen: true, noDelay: true }, (socket) => this.#sniffed.add(socket))
        : // As node:https does it: a client that leaves during the handshake takes the socket along.
          createTls({ ...tls, noDelay: true, ALPNProtocols: ["h2", "http/1.1"] }, (socket) =>
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
    if (socket.destroyed) return;
    if (!isHttp2) return void this.#http.emit("connection", socket);
    // The server announces the session of a socket before it returns.
    this.#http2.once("session", (session) => {
      releaseWhenOver(session, socket);
      closeWhenIdle(session, socket, this.#idleMs);
    });
    // A session notices the end of its socket only when the socket is closed, so both sides end
    // together, as with a server of node:http2. A client that does not read cannot delay it.
    socket.allowHalfOpen = false;
    socket.once("end", () => destroyLater(socket));
    this.#http2.emit("connection", socket);
  }
}

/**
 * A destroyed session waits for its client to close the socket. One that is only closing waits for
 * its streams, and if the client broke the protocol after its GOAWAY, Node reads no further and
 * never learns that the client is gone. Neither announces anything, so we look: a closing session
 * has to acknowledge an empty SETTINGS until the next look (RFC 9113 §6.5.3).
 */
function releaseWhenOver(session: ServerHttp2Session, socket: Socket): void {
  let isOver = false;
  const timer = setInterval(() => {
    if (isOver) return void socket.destroy();
    isOver = session.closed || session.destroyed;
    if (!isOver || session.destroyed) return;
    session.settings({}, (error) => {
      isOver = error !== null;
    });
  }, HALF_OPEN_MS).unref();
  socket.once("close", () => clearInterval(timer));
}

function destroyLater(socket: Socket): void {
  const timer = setTimeout(() => socket.destroy(), HALF_OPEN_MS).unref();
  socket.once("close", () => clearTimeout(timer));
}

/** Counts streams instead of bytes: the answers to our keep-alive pings are no use of a connection. */
function closeWhenIdle(session: ServerHttp2Session, socket: Socket, idleMs: number): void {
  let open = 0;
  const timer = setTimeout(() => {
    if (open > 0) return;
    session.close();
    destroyLater(socket);
  }, idleMs).unref();
  session.on("stream", (stream) => {
    // Reset before it was announced: its end may be announced already.
    if (stream.destroyed) return;
    open++;
    stream.once("close", () => {
      if (--open === 0 && !socket.destroyed) timer.refresh();
    });
  });
  socket.once("close", () => clearTimeout(timer));
}

/** Connections whose first bytes have not come yet. */
class SniffedSockets {
  readonly #waiting = new Set<Socket>();
  readonly #adopt: (socket: Socket, isHttp2: boolean) => void;

  constructor(adopt: (socket: Socket, isHttp2: boolean) => void) {
    this.#adopt = adopt;
  }

  add(socket: Socket): void {
    this.#waiting.add(socket);
    const leave = (): void => {
      this.#waiting.delete(socket);
      socket.off("readable", look);
      socket.off("error", leave);
      socket.off("close", leave);
      socket.off("end", hangUp);
      socket.off("timeout", hangUp);
      socket.setTimeout(0);
    };
    const hangUp = (): void => void socket.destroy();
    let bytes: Buffer = Buffer.alloc(0);
    const look = (): void => {
      bytes = Buffer.concat([bytes, (socket.read() as Buffer | null) ?? NOTHING]);
      const beginning = bytes.toString("latin1", 0, PREFACE.length);
      if (beginning.length < PREFACE.length && PREFACE.startsWith(beginning)) return;
      leave();
      // Put back once it is decided, and not before: each time it would be readable again at once.
      socket.unshift(bytes);
      this.#adopt(socket, beginning === PREFACE);
    };
    socket.setTimeout(PATIENCE_MS);
    socket.on("readable", look);
    socket.on("error", leave);
    socket.on("close", leave);
    socket.on("end", hangUp);
    socket.on("timeout", hangUp);
  }

  close(): void {
    for (const socket of this.#waiting) socket.destroy();
  }
}
