import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { Socket } from "node:net";
import { canonicalHost, effectivePort } from "../policy/host.ts";

/** A connection is not reused for longer than this, so that a changed DNS entry takes effect. */
export const MAX_AGE_MS = 5 * 60_000;

/** After this much idle time the system probes whether the peer is still there (TCP keep-alive). */
export const PROBE_AFTER_MS = 30_000;

/**
 * How long an idle HTTP/1.1 connection is kept. Common servers close theirs after 5 s; a request
 * that races with the close is lost, and the client cannot know whether it arrived.
 */
const IDLE_MS = 4000;

/** How much earlier than announced by its server an idle connection is closed. */
const MARGIN_MS = 1000;

// Without `timeout`: Node would start and stop a timer of the connection for each request.
const OPTIONS = {
  keepAlive: true,
  // Detects a peer whose machine is gone.
  keepAliveMsecs: PROBE_AFTER_MS,
};

interface Times {
  readonly openedAt: number;
  /** When it has been idle for too long. */
  idleUntil: number;
}

/**
 * The HTTP/1.1 connections that stay open between requests, each for one origin. Not Node's global
 * agents: those may use a proxy from the environment, which would resolve the name again.
 */
export class KeptConnections {
  readonly #http = new HttpAgent(OPTIONS);
  readonly #https = new HttpsAgent(OPTIONS);
  readonly #times = new WeakMap<Socket, Times>();
  /** One timer for all idle connections. */
  #timer: NodeJS.Timeout | undefined;

  agentFor(url: URL): HttpAgent {
    return url.protocol === "https:" ? this.#https : this.#http;
  }

  opened(socket: Socket): void {
    const now = Date.now();
    this.#times.set(socket, { openedAt: now, idleUntil: now + IDLE_MS });
  }

  /** @param hint the `Keep-Alive` header of the response */
  used(socket: Socket, hint: string): void {
    const times = this.#times.get(socket);
    if (times === undefined) return;
    const idleMs = idleTimeOf(hint);
    times.idleUntil = Date.now() + idleMs;
    if (this.#timer === undefined) this.#closeIdleIn(idleMs);
  }

  /**
   * Whether a kept connection must not be reused. A timer closes idle ones, but after a machine wakes
   * from sleep a request may come before it runs.
   */
  isStale(socket: Socket): boolean {
    const times = this.#times.get(socket);
    if (times === undefined) return false;
    const now = Date.now();
    return now > times.idleUntil || now - times.openedAt > MAX_AGE_MS;
  }

  /** Closes the kept connections of the URL's origin, so that the next request opens a new one. */
  forget(url: URL): void {
    const prefix = `${canonicalHost(url)}:${effectivePort(url)}:`;
    for (const [name, sockets] of Object.entries(this.agentFor(url).freeSockets)) {
      if (name.startsWith(prefix)) closeAll(sockets);
    }
  }

  /** Closes all kept connections and keeps none from now on. Running requests continue. */
  close(): void {
    for (const agent of [this.#http, this.#https]) {
      agent.maxFreeSockets = 0;
      for (const sockets of Object.values(agent.freeSockets)) closeAll(sockets);
    }
  }

  #closeIdleIn(ms: number): void {
    this.#timer = setTimeout(() => this.#closeIdle(), ms).unref();
  }

  /** Closes connections that were idle for too long, and comes back for the others. */
  #closeIdle(): void {
    this.#timer = undefined;
    const now = Date.now();
    const left = [this.#http, this.#https]
      .flatMap(({ freeSockets }) => Object.values(freeSockets))
      .flatMap((sockets = []) => sockets)
      .map((socket) => ({ socket, ms: (this.#times.get(socket)?.idleUntil ?? now) - now }));
    for (const { socket, ms } of left) if (ms <= 0) socket.destroy();
    const idle = left.filter(({ ms }) => ms > 0);
    if (idle.length > 0) this.#closeIdleIn(Math.min(...idle.map(({ ms }) => ms)));
  }
}

/** How long a connection may be idle: less if its server announces to close it earlier. */
function idleTimeOf(hint: string): number {
  const [, seconds] = /^timeout=(\d+)/.exec(hint) ?? [];
  return seconds === undefined ? IDLE_MS : Math.min(IDLE_MS, Number(seconds) * 1000 - MARGIN_MS);
}

function closeAll(sockets: readonly Socket[] | undefined): void {
  // The list does not change during the loop: sockets leave it later, when they have closed.
  for (const socket of sockets ?? []) socket.destroy();
}
