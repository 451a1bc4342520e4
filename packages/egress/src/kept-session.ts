import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import { MAX_AGE_MS } from "./connection-life.ts";

/** How long a session without streams is kept. Servers and proxies leave them open for minutes. */
const IDLE_MS = 60_000;

/**
 * A session of HTTP/2 between requests. It keeps the process alive only while
 * something runs in it, and closes when nothing has for a while. No pings: many
 * gRPC servers take more than one in five minutes for an attack.
 */
export class KeptSession {
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
