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
import { type TLSSocket, type TlsOptions as NodeTls, createServer as createTls } from "node:tls";
import { Counts } from "@convoke/engine";
import type { Timeouts } from "../http/exchange.ts";
import type { NodeListener } from "./node-listener.ts";

/** How long a client may take to read the end of a response when the server closes. */
const FLUSH_MS = 250;

/** How often Node looks for slow requests. */
const CHECK_MS = 5000;

/** More concurrent streams than a browser or a gRPC client opens on one connection. */
const MAX_STREAMS = 1000;

/** In Node's types the requests of HTTP/1 and HTTP/2 are unrelated, although they are compatible. */
type Http2Listener = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

/** A certificate and its private key in PEM format. */
export interface TlsOptions {
  readonly cert: string;
  readonly key: string;
  /**
   * The authorities whose client certificates are trusted, in PEM format, for `mtls()`. Default:
   * clients are not asked for a certificate. With it they are asked, and may connect without one, so
   * that the card stays public.
   */
  readonly ca?: string | readonly string[];
}

export interface PortOptions {
  readonly listener: NodeListener;
  readonly tls?: TlsOptions | undefined;
  /** Called for each HTTP/2 connection. Returns a function that is called when it is closed. */
  readonly onSession: (session: ServerHttp2Session) => () => void;
  readonly timeouts: Timeouts;
  readonly limits: ConnectionLimits;
  /** A client has reached a limit. */
  readonly onLimit: (limit: string, fields: Readonly<Record<string, unknown>>) => void;
}

interface ConnectionLimits {
  /** Open connections. */
  readonly connections: number;
  /** Open connections from one address. */
  readonly addressConnections: number;
}

/**
 * One port for HTTP/1.1 and HTTP/2. Without TLS the protocol is detected from the
 * first bytes of a connection; with TLS it is negotiated (ALPN).
 */
export class Port {
  readonly net: Server;
  readonly #http: HttpServer;
  readonly #http2: Http2Server;
  readonly #sniffed: SniffedSockets;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #options: PortOptions;
  readonly #addresses = new Counts();
  #connections = 0;

  constructor(options: PortOptions) {
    const { listener, tls, onSession, timeouts } = options;
    const { headersMs, bodyMs } = timeouts;
    this.#options = options;
    this.#sniffed = new SniffedSockets(headersMs, (socket, isHttp2) =>
      this.#adopt(socket, isHttp2),
    );
    // A slow body is rejected with an error; if the client keeps sending, Node closes the connection.
    const requestTimeout = headersMs + bodyMs + FLUSH_MS;
    const connectionsCheckingInterval = Math.min(headersMs, CHECK_MS);
    this.#http = createHttp(
      { headersTimeout: headersMs, requestTimeout, connectionsCheckingInterval },
      listener,
    );
    // Starts the timers of Node, which begin when a server listens; this one gets its connections from us.
    this.#http.emit("listening");
    const settings = { maxConcurrentStreams: MAX_STREAMS };
    const http2Listener = listener as unknown as Http2Listener;
    this.#http2 = createHttp2({ settings }, http2Listener);
    this.#http2.on("checkContinue", (request, response) => {
      // The default of Node throws if the stream was reset meanwhile, which would crash the process.
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
        ? // Like node:http: a client may end its side before it has read the response.
          createNet({ allowHalfOpen: true, noDelay: true })
        : // Like node:https: a client that disconnects during the handshake closes the socket.
          createTls({
            ...tlsFor(tls),
            noDelay: true,
            ALPNProtocols: ["h2", "http/1.1"],
            handshakeTimeout: headersMs,
          });
    // With TLS, this is before the handshake.
    this.net.prependListener("connection", (socket: Socket) => this.#count(socket));
    if (tls === undefined) {
      this.net.on("connection", (socket: Socket) => {
        if (!socket.destroyed) this.#sniffed.add(socket);
      });
    } else {
      this.net.on("secureConnection", (socket: TLSSocket) =>
        this.#adopt(socket, socket.alpnProtocol === "h2"),
      );
    }
  }

  /** Counts a connection, or closes it if there are too many. */
  #count(socket: Socket): void {
    const { limits, onLimit } = this.#options;
    const { remoteAddress: address = "" } = socket;
    const limit =
      this.#connections >= limits.connections
        ? "connections"
        : this.#addresses.get(address) >= limits.addressConnections && "addressConnections";
    if (limit !== false) {
      onLimit(limit, { address });
      return void socket.destroy();
    }
    this.#connections++;
    this.#addresses.add(address);
    // `once` would add a function of its own for as long as the connection is open.
    socket.on("close", () => {
      this.#connections--;
      this.#addresses.remove(address);
    });
  }

  /** Waits briefly until clients have read their responses, then closes all connections. */
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
    // The server emits the session of this socket synchronously.
    this.#http2.once("session", (session) => {
      destroyWhenOver(session, socket);
      closeWhenIdle(session, socket, this.#options.timeouts);
    });
    // A session notices the end of its socket only when the socket is closed, so both sides end
    // together, as in a server of node:http2. A client that does not read cannot delay it.
    socket.allowHalfOpen = false;
    socket.once("end", () => destroyLater(socket));
    this.#http2.emit("connection", socket);
  }
}

/** The guard decides about a client without a trusted certificate, because it may have other credentials. */
function tlsFor({ cert, key, ca }: TlsOptions): NodeTls {
  if (ca === undefined) return { cert, key };
  const authorities = typeof ca === "string" ? ca : [...ca];
  return { cert, key, ca: authorities, requestCert: true, rejectUnauthorized: false };
}

/** How long one side of an HTTP/2 connection may stay open after the other has ended. */
const HALF_OPEN_MS = 4000;

/**
 * Destroys the socket of a session that has ended. A destroyed session waits for its client to close
 * the socket. A closing session waits for its streams, and if the client broke the protocol after
 * its GOAWAY, Node stops reading and never notices that the client has disconnected. There is no
 * event for either, so we poll: the client of a closing session has to acknowledge an empty SETTINGS
 * frame before the next check (RFC 9113 §6.5.3).
 */
function destroyWhenOver(session: ServerHttp2Session, socket: Socket): void {
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

/**
 * Closes a session without streams: soon if it never had one, otherwise after the idle time. Counts
 * streams instead of bytes, because responses to our keep-alive pings do not count as use.
 */
function closeWhenIdle(
  session: ServerHttp2Session,
  socket: Socket,
  { headersMs, idleMs }: Timeouts,
): void {
  let open = 0;
  const close = (): void => {
    if (open > 0) return;
    session.close();
    destroyLater(socket);
  };
  let timer = setTimeout(close, Math.min(headersMs, idleMs)).unref();
  session.on("stream", (stream) => {
    // The stream was reset already, so it may have emitted `close`.
    if (stream.destroyed) return;
    open++;
    clearTimeout(timer);
    stream.once("close", () => {
      if (--open > 0 || socket.destroyed) return;
      timer = setTimeout(close, idleMs).unref();
    });
  });
  socket.once("close", () => clearTimeout(timer));
}

const NOTHING = Buffer.alloc(0);

/** The start of an HTTP/2 connection without TLS (RFC 9113 §3.4). No method of HTTP/1 starts like this. */
const PREFACE = "PRI";

/** Connections whose protocol is not known yet. */
class SniffedSockets {
  readonly #waiting = new Set<Socket>();
  readonly #timeoutMs: number;
  readonly #adopt: (socket: Socket, isHttp2: boolean) => void;

  constructor(timeoutMs: number, adopt: (socket: Socket, isHttp2: boolean) => void) {
    this.#timeoutMs = timeoutMs;
    this.#adopt = adopt;
  }

  add(socket: Socket): void {
    this.#waiting.add(socket);
    const leave = (): void => {
      this.#waiting.delete(socket);
      socket.off("readable", detect);
      socket.off("error", leave);
      socket.off("close", leave);
      socket.off("end", hangUp);
      clearTimeout(timer);
    };
    const hangUp = (): void => void socket.destroy();
    let bytes: Buffer = Buffer.alloc(0);
    const detect = (): void => {
      bytes = Buffer.concat([bytes, (socket.read() as Buffer | null) ?? NOTHING]);
      const start = bytes.toString("latin1", 0, PREFACE.length);
      if (start.length < PREFACE.length && PREFACE.startsWith(start)) return;
      leave();
      // Put back only once it is decided: otherwise the socket would be readable again immediately.
      socket.unshift(bytes);
      this.#adopt(socket, start === PREFACE);
    };
    const timer = setTimeout(hangUp, this.#timeoutMs).unref();
    socket.on("readable", detect);
    socket.on("error", leave);
    socket.on("close", leave);
    socket.on("end", hangUp);
  }

  close(): void {
    for (const socket of this.#waiting) socket.destroy();
  }
}
