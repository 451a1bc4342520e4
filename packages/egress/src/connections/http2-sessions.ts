import { orAborted } from "@convoke/protocol/internal";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { type OutboundConnections, connectTimeoutError } from "./send.ts";
import { type Socket, connect as connectNet, isIP } from "node:net";
import { TLSSocket, connect as connectTls } from "node:tls";
import { MAX_AGE_MS, PROBE_AFTER_MS } from "./kept-connections.ts";
import { EgressError, describeProblem } from "../policy/egress-error.ts";
import { canonicalHost, effectivePort } from "../policy/host.ts";

/** The open HTTP/2 sessions, one per origin. */
export class Http2Sessions {
  readonly #way: OutboundConnections;
  readonly #sessions = new Map<string, Promise<KeptSession>>();

  constructor(way: OutboundConnections) {
    this.#way = way;
  }

  /** Concurrent callers wait for the same session; the signal ends only this caller's wait. */
  async open(url: URL, signal: AbortSignal | undefined): Promise<ClientHttp2Session> {
    signal?.throwIfAborted();
    const known = this.#sessions.get(url.origin);
    const kept = await orAborted(known ?? this.#openNew(url), signal);
    if (kept.isUsable || known === undefined) return kept.session;
    this.#forget(url.origin, known);
    kept.end();
    return this.open(url, signal);
  }

  /** Closes each session once its streams have ended. */
  close(): void {
    for (const opening of this.#sessions.values()) {
      opening.then((kept) => kept.end()).catch(() => undefined);
    }
    this.#sessions.clear();
  }

  #openNew(url: URL): Promise<KeptSession> {
    const { origin } = url;
    const opening = connectHttp2(this.#way, url).then((session) => new KeptSession(session));
    const forget = () => this.#forget(origin, opening);
    opening.then(({ session }) => session.on("goaway", forget).on("close", forget)).catch(forget);
    this.#sessions.set(origin, opening);
    return opening;
  }

  #forget(origin: string, opening: Promise<KeptSession>): void {
    if (this.#sessions.get(origin) === opening) this.#sessions.delete(origin);
  }
}

const NO_HTTP2 = { code: "ERR_HTTP2_ERROR" };

/**
 * Opens an HTTP/2 session: with ALPN over TLS, with prior knowledge without TLS. The session counts as
 * open when the server has sent its settings, the first sign that it speaks HTTP/2 at all; no request
 * is sent before.
 */
function connectHttp2(way: OutboundConnections, url: URL): Promise<ClientHttp2Session> {
  return new Promise((resolve, reject) => {
    const socket = openSocket(way, url);
    let session: ClientHttp2Session | undefined;
    const fail = (error: unknown) => {
      clearTimeout(timer);
      (session ?? socket).destroy();
      reject(toError(url, error));
    };
    const timeoutMs = way.connectTimeoutMs;
    const timer = setTimeout(() => fail(connectTimeoutError(url, timeoutMs)), timeoutMs);
    socket.on("error", fail);
    // Create the session only after connecting: Node crashes if the socket of a new session is destroyed.
    socket.once(url.protocol === "https:" ? "secureConnect" : "connect", () => {
      if (socket instanceof TLSSocket && socket.alpnProtocol !== "h2") {
        fail(NO_HTTP2);
        return;
      }
      socket.off("error", fail);
      const opened = connect(url.origin, { createConnection: () => socket });
      session = opened;
      // Later errors are reported by the streams; without a listener they would end the process.
      opened.on("error", fail);
      opened.on("close", () => fail(NO_HTTP2));
      opened.once("remoteSettings", () => {
        clearTimeout(timer);
        resolve(opened);
      });
    });
  });
}

function openSocket(way: OutboundConnections, url: URL): Socket {
  const host = canonicalHost(url);
  const options = {
    host,
    port: effectivePort(url),
    lookup: way.lookup(url),
    keepAlive: true,
    keepAliveInitialDelay: PROBE_AFTER_MS,
    noDelay: true,
  };
  if (url.protocol === "http:") return connectNet(options);
  const name = isIP(host) === 0 && { servername: host };
  return connectTls({ ...options, ...name, ...way.tlsFor(url), ALPNProtocols: ["h2"] });
}

function toError(url: URL, error: unknown): EgressError {
  if (error instanceof EgressError) return error;
  const message = `could not reach ${url.origin}: ${describeProblem(error)}`;
  return new EgressError("network", message, { cause: error, sent: false });
}

/** How long a session without streams is kept. Servers and proxies keep theirs open for minutes. */
const IDLE_MS = 60_000;

/**
 * An HTTP/2 session that is kept between requests. It keeps the process alive only while it has
 * streams, and closes after it was idle for a while. It sends no pings: many gRPC servers treat more
 * than one ping in five minutes as an attack.
 */
class KeptSession {
  readonly session: ClientHttp2Session;
  readonly #openedAt = Date.now();
  #usedAt = Date.now();
  #streams = 0;
  #isEnding = false;
  #idle: NodeJS.Timeout | undefined;

  constructor(session: ClientHttp2Session) {
    this.session = session;
    // Node has no event for outgoing streams, so `request` is wrapped.
    const request = session.request.bind(session);
    session.request = (headers, options) => this.#watch(request(headers, options));
    session.on("close", () => clearTimeout(this.#idle));
    this.#rest();
  }

  /** Whether it can take new requests. After a machine wakes from sleep, timers may run late. */
  get isUsable(): boolean {
    const { closed, destroyed } = this.session;
    const now = Date.now();
    const isIdle = this.#streams === 0 && now - this.#usedAt > IDLE_MS;
    return !closed && !destroyed && !isIdle && now - this.#openedAt < MAX_AGE_MS;
  }

  /** Closes it once it has no streams. Node's own `close` would reject streams opened just before. */
  end(): void {
    this.#isEnding = true;
    if (this.#streams === 0) this.session.close();
  }

  #watch(stream: ClientHttp2Stream): ClientHttp2Stream {
    this.#streams += 1;
    clearTimeout(this.#idle);
    this.session.ref();
    stream.on("close", () => {
      this.#streams -= 1;
      this.#usedAt = Date.now();
      if (this.#streams === 0) this.#rest();
    });
    return stream;
  }

  #rest(): void {
    if (this.#isEnding) {
      this.session.close();
      return;
    }
    this.session.unref();
    this.#idle = setTimeout(() => this.session.close(), IDLE_MS).unref();
  }
}
