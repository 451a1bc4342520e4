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

const OPTIONS = {
  keepAlive: true,
  timeout: IDLE_MS,
  // Detects a peer whose machine is gone.
  keepAliveMsecs: PROBE_AFTER_MS,
};

interface Times {
  readonly openedAt: number;
  usedAt: number;
}

/**
 * The HTTP/1.1 connections that stay open between requests, each for one origin. Not Node's global
 * agents: those may use a proxy from the environment, which would resolve the name again.
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
   * Whether a kept connection must not be reused. Timers close idle ones, but after a machine wakes
   * from sleep a request may come before its timers run.
   */
  isStale(socket: Socket): boolean {
    const times = this.#times.get(socket);
    if (times === undefined) return false;
    const now = Date.now();
    return now - times.usedAt > IDLE_MS || now - times.openedAt > MAX_AGE_MS;
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
}

function closeAll(sockets: readonly Socket[] | undefined): void {
  // The list does not change during the loop: sockets leave it later, when they have closed.
  for (const socket of sockets ?? []) socket.destroy();
}
