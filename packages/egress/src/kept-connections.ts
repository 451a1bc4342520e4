import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { Socket } from "node:net";
import { MAX_AGE_MS, PROBE_AFTER_MS } from "./connection-life.ts";
import { hostOf, portOf } from "./host-of.ts";

/**
 * How long a connection of HTTP/1.1 is kept without use. Below the 5 s after
 * which common servers close theirs, because a request that meets the closing
 * is lost, and nobody can tell whether it arrived.
 */
const IDLE_MS = 4000;

const OPTIONS = {
  keepAlive: true,
  timeout: IDLE_MS,
  // A peer whose machine is gone is noticed although it says nothing.
  keepAliveMsecs: PROBE_AFTER_MS,
};

interface Times {
  readonly openedAt: number;
  usedAt: number;
}

/**
 * The connections of HTTP/1.1 that are open between requests, each for its
 * origin alone. Not those that Node shares between all code: they may go by a
 * proxy from the environment, which would look the name up again.
 */
export class KeptConnections {
  readonly #http = new HttpAgent(OPTIONS);
  readonly #https = new HttpsAgent(OPTIONS);
  readonly #times = new WeakMap<Socket, Times>();

  agentFor(url: URL): HttpAgent {
    return url.protocol === "https:" ? this.#https : this.#http;
  }

  opened(socket: Socket): void {
    const now = Date.now();
    this.#times.set(socket, { openedAt: now, usedAt: now });
  }

  used(socket: Socket): void {
    const times = this.#times.get(socket);
    if (times) times.usedAt = Date.now();
  }

  /**
   * Whether a kept connection is not to be used any more. Timers close those
   * without use, but a machine that slept finds them before its timers run.
   */
  isStale(socket: Socket): boolean {
    const times = this.#times.get(socket);
    if (times === undefined) return false;
    const now = Date.now();
    return now - times.usedAt > IDLE_MS || now - times.openedAt > MAX_AGE_MS;
  }

  /** Closes what is kept for the origin of the URL: the next request opens a connection. */
  forget(url: URL): void {
    const place = `${hostOf(url)}:${portOf(url)}:`;
    for (const [name, sockets] of Object.entries(this.agentFor(url).freeSockets)) {
      if (name.startsWith(place)) closeAll(sockets);
    }
  }

  /** Closes what is kept, and keeps nothing more. Requests under way go on. */
  close(): void {
    for (const agent of [this.#http, this.#https]) {
      agent.maxFreeSockets = 0;
      for (const sockets of Object.values(agent.freeSockets)) closeAll(sockets);
    }
  }
}

function closeAll(sockets: readonly Socket[] | undefined): void {
  // They take themselves out of the list when they are closed, which is later.
  for (const socket of sockets ?? []) socket.destroy();
}
