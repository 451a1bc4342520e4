import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import type { WayOut } from "./send.ts";
import { connect as connectNet, isIP, type Socket } from "node:net";
import { connect as connectTls, TLSSocket } from "node:tls";
import { MAX_AGE_MS, PROBE_AFTER_MS } from "./connection-life.ts";
import { describeProblem } from "./describe-problem.ts";
import { EgressError } from "./egress-error.ts";
import { hostOf, portOf } from "./host-of.ts";
import { tooSlow } from "./once-connected.ts";

/** How long a session without streams is kept. Servers and proxies leave them open for minutes. */
const IDLE_MS = 60_000;

const NO_HTTP2 = { code: "ERR_HTTP2_ERROR" };

/** The sessions of HTTP/2 that are open, one for each origin. */
export class Http2Sessions {
  readonly #way: WayOut;
  readonly #sessions = new Map<string, Promise<KeptSession>>();

  constructor(way: WayOut) {
    this.#way = way;
  }

  /** Several who ask at once wait for the same session; the signal ends the waiting of one of them. */
  async open(url: URL, signal: AbortSignal | undefined): Promise<ClientHttp2Session> {
    signal?.throwIfAborted();
    const known = this.#sessions.get(url.origin);
    const kept = await orAborted(known ?? this.#openNew(url), signal);
    if (kept.isUsable || known === undefined) return kept.session;
    this.#forget(url.origin, known);
    kept.end();
    return this.open(url, signal);
  }

  /** Closes each session when what runs in it has ended. */
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

/**
 * Opens a session of HTTP/2: by ALPN with TLS, and by prior knowledge without.
 * It is open when the other side has sent its settings, which is the first sign
 * that it speaks HTTP/2 at all; until then nothing is asked of it.
 */
function connectHttp2(way: WayOut, url: URL): Promise<ClientHttp2Session> {
  return new Promise((resolve, reject) => {
    const socket = openSocket(way, url);
    let session: ClientHttp2Session | undefined;
    const fail = (error: unknown) => {
      clearTimeout(timer);
      (session ?? socket).destroy();
      reject(failureOf(url, error));
    };
    const timeoutMs = way.connectTimeoutMs;
    const timer = setTimeout(() => fail(tooSlow(url, timeoutMs)), timeoutMs);
    socket.on("error", fail);
    // Only now, because Node crashes when the socket of a new session is destroyed.
    socket.once(url.protocol === "https:" ? "secureConnect" : "connect", () => {
      if (socket instanceof TLSSocket && socket.alpnProtocol !== "h2") {
        fail(NO_HTTP2);
        return;
      }
      socket.off("error", fail);
      const opened = connect(url.origin, { createConnection: () => socket });
      session = opened;
      // Later errors go to the streams; without a listener they would end the process.
      opened.on("error", fail);
      opened.on("close", () => fail(NO_HTTP2));
      opened.once("remoteSettings", () => {
        clearTimeout(timer);
        resolve(opened);
      });
    });
  });
}

function openSocket(way: WayOut, url: URL): Socket {
  const host = hostOf(url);
  const options = {
    host,
    port: portOf(url),
    lookup: way.lookup(url),
    keepAlive: true,
    keepAliveInitialDelay: PROBE_AFTER_MS,
    noDelay: true,
  };
  if (url.protocol === "http:") return connectNet(options);
  const name = isIP(host) === 0 && { servername: host };
  return connectTls({ ...options, ...name, ALPNProtocols: ["h2"] });
}

function failureOf(url: URL, error: unknown): EgressError {
  if (error instanceof EgressError) return error;
  const message = `could not reach ${url.origin}: ${describeProblem(error)}`;
  return new EgressError("network", message, { cause: error, sent: false });
}

/**
 * A session of HTTP/2 between requests. It keeps the process alive only while
 * something runs in it, and closes when nothing has for a while. No pings: many
 * gRPC servers take more than one in five minutes for an attack.
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
    // Node tells nobody of new streams, so whoever opens one passes here.
    const request = session.request.bind(session);
    session.request = (headers, options) => this.#watch(request(headers, options));
    session.on("close", () => clearTimeout(this.#idle));
    this.#rest();
  }

  /** Whether new requests may go by it. A machine that slept finds old ones before its timers run. */
  get isUsable(): boolean {
    const { closed, destroyed } = this.session;
    const now = Date.now();
    const isIdle = this.#streams === 0 && now - this.#usedAt > IDLE_MS;
    return !closed && !destroyed && !isIdle && now - this.#openedAt < MAX_AGE_MS;
  }

  /** Closes it when nothing runs in it. Node's own closing refuses what was asked for just before. */
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

/** The result of work that others wait for too, or the reason of the signal, whichever comes first. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    signal.addEventListener("abort", abort);
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
