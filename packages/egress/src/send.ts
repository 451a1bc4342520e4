import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { type Socket, isIP } from "node:net";
import { hostOf, portOf } from "./host-of.ts";
import type { KeptConnections } from "./kept-connections.ts";
import { onceConnected } from "./once-connected.ts";
import type { PinnedLookup } from "./pinned-lookup.ts";

/** How requests leave, the same for all. */
export interface WayOut {
  readonly connections: KeptConnections;
  readonly lookup: PinnedLookup;
  readonly connectTimeoutMs: number;
}

export interface Sending {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly signal: AbortSignal | undefined;
}

export type Sent =
  | { readonly kind: "answered"; readonly response: IncomingMessage }
  | {
      readonly kind: "failed";
      readonly error: unknown;
      /** Whether the other side may have got all of the request. */
      readonly sent: boolean;
      /** Whether it went over a connection that was kept from an earlier one. */
      readonly wasKept: boolean;
    };

const WITHOUT_A_WORD = { code: "ECONNRESET" };

/** Sends a request once, and resolves with the head of the answer. Rejects only when the signal aborts. */
export function send(way: WayOut, { url, method, headers, body, signal }: Sending): Promise<Sent> {
  return new Promise((resolve, reject) => {
    const host = hostOf(url);
    const open = url.protocol === "https:" ? requestHttps : requestHttp;
    const request = open({
      method,
      host,
      port: portOf(url),
      path: `${url.pathname}${url.search}`,
      // Without a word about it a server may compress what it sends (RFC 9110 §12.5.3).
      headers: { "Accept-Encoding": "identity", ...headers },
      lookup: way.lookup(url, signal),
      agent: way.connections.agentFor(url),
      // The certificate must be that of the name, whatever address is behind it.
      ...(isIP(host) === 0 && { servername: host }),
    });
    const progress = watchProgress(way, url, request);
    const abort = () => {
      reject(signal?.reason as Error);
      request.destroy();
    };
    const fail = (error: unknown) => {
      const sent = progress.isConnected && progress.isWritten && !isWriting(error);
      resolve({ kind: "failed", error, sent, wasKept: request.reusedSocket });
    };
    signal?.addEventListener("abort", abort);
    let hasAnswer = false;
    request.on("response", (response) => {
      hasAnswer = true;
      resolve({ kind: "answered", response });
    });
    request.on("error", fail);
    request.on("close", () => {
      signal?.removeEventListener("abort", abort);
      // Connections may end without a word, as those do which switch protocols.
      if (!hasAnswer) fail(WITHOUT_A_WORD);
    });
    request.end(body);
  });
}

interface Progress {
  readonly isConnected: boolean;
  readonly isWritten: boolean;
}

function watchProgress(way: WayOut, url: URL, request: ClientRequest): Progress {
  const { connections, connectTimeoutMs } = way;
  const progress = { isConnected: false, isWritten: false };
  request.on("socket", (socket: Socket) => {
    if (request.reusedSocket && connections.isStale(socket)) {
      // Nothing is written yet: that comes after this event.
      request.destroy(new Error("kept for too long"));
      return;
    }
    onceConnected(socket, { url, timeoutMs: connectTimeoutMs }, () => {
      progress.isConnected = true;
      if (!request.reusedSocket) connections.opened(socket);
    });
    request.on("close", () => connections.used(socket));
  });
  request.on("finish", () => (progress.isWritten = true));
  return progress;
}

/**
 * Whether a part of the request was never handed to the system. What arrived
 * is shorter than its own head says, and no server takes that for a request.
 */
function isWriting(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).syscall === "write";
}
