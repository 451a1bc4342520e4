import type { ClientHttp2Session } from "node:http2";
import { connectHttp2 } from "./connect-http2.ts";
import { KeptSession } from "./kept-session.ts";
import { orAborted } from "./or-aborted.ts";
import type { WayOut } from "./send.ts";

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
