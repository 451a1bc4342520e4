import {
  type ClientRequest,
  type IncomingMessage,
  type RequestOptions,
  request as requestHttp,
} from "node:http";
import { request as requestHttps } from "node:https";
import { type Socket, isIP } from "node:net";
import { canonicalHost, effectivePort } from "../policy/host.ts";
import type { KeptConnections } from "./kept-connections.ts";
import type { PinnedLookup } from "./pinned-lookup.ts";
import type { TlsChoice } from "./tls-choice.ts";
import { EgressError } from "../policy/egress-error.ts";

/** What all outgoing requests share. */
export interface OutboundConnections {
  readonly connections: KeptConnections;
  readonly lookup: PinnedLookup;
  readonly tlsFor: TlsChoice;
  readonly connectTimeoutMs: number;
  /** What has been found out about the URLs in use. */
  readonly destinations: WeakMap<URL, Destination>;
}

/** What is the same for all requests to a URL. */
interface Destination {
  readonly open: (options: RequestOptions) => ClientRequest;
  readonly options: RequestOptions;
}

export interface OutgoingRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
  readonly signal: AbortSignal | undefined;
}

export type SendOutcome =
  | { readonly kind: "answered"; readonly response: IncomingMessage }
  | {
      readonly kind: "failed";
      readonly error: unknown;
      /** Whether the server may have received the whole request. */
      readonly sent: boolean;
      /** Whether it used a connection kept from an earlier request. */
      readonly wasKept: boolean;
    };

const CLOSED_SILENTLY = { code: "ECONNRESET" };

/** Sends a request once and resolves with the head of the response. Rejects only if the signal aborts. */
export function send(
  way: OutboundConnections,
  { url, method, headers, body, signal }: OutgoingRequest,
): Promise<SendOutcome> {
  const { open, options } = destinationOf(way, url);
  return new Promise((resolve, reject) => {
    const request = open({
      ...options,
      method,
      headers,
      ...(signal !== undefined && { lookup: way.lookup(url, signal) }),
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
    let hint = "";
    request.on("response", (response) => {
      hasAnswer = true;
      hint = String(response.headers["keep-alive"] ?? "");
      resolve({ kind: "answered", response });
    });
    request.on("error", fail);
    request.on("close", () => {
      if (request.socket !== null) way.connections.used(request.socket, hint);
      signal?.removeEventListener("abort", abort);
      // A connection may end without response and without error, for example after a protocol switch.
      if (!hasAnswer) fail(CLOSED_SILENTLY);
    });
    request.end(body);
  });
}

function destinationOf(way: OutboundConnections, url: URL): Destination {
  const known = way.destinations.get(url);
  if (known !== undefined) return known;
  const host = canonicalHost(url);
  const destination = {
    open: url.protocol === "https:" ? requestHttps : requestHttp,
    options: {
      host,
      port: effectivePort(url),
      path: `${url.pathname}${url.search}`,
      agent: way.connections.agentFor(url),
      lookup: way.lookup(url),
      // The certificate must be for the name, whatever address it resolved to. Node would find the
      // same for an address, but again for each request.
      servername: isIP(host) === 0 ? host : "",
      ...way.tlsFor(url),
    },
  };
  way.destinations.set(url, destination);
  return destination;
}

interface Progress {
  readonly isConnected: boolean;
  readonly isWritten: boolean;
}

function watchProgress(way: OutboundConnections, url: URL, request: ClientRequest): Progress {
  const { connections, connectTimeoutMs } = way;
  const progress = { isConnected: false, isWritten: false };
  request.on("socket", (socket: Socket) => {
    if (request.reusedSocket) {
      progress.isConnected = !connections.isStale(socket);
      // Nothing has been written yet; that happens after this event.
      if (!progress.isConnected) request.destroy(new Error("the kept connection is too old"));
      return;
    }
    onceConnected(socket, { url, timeoutMs: connectTimeoutMs }, () => {
      progress.isConnected = true;
      connections.opened(socket);
    });
  });
  request.on("finish", () => (progress.isWritten = true));
  return progress;
}

/**
 * Whether writing failed, so that a part of the request never left. What arrived is shorter than its
 * own headers say, and no server accepts that as a request.
 */
function isWriting(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).syscall === "write";
}

/** Calls back when a connection can be written to, and destroys it if that takes too long. */
function onceConnected(
  socket: Socket,
  { url, timeoutMs }: { readonly url: URL; readonly timeoutMs: number },
  connected: () => void,
): void {
  if (!isConnecting(socket)) {
    connected();
    return;
  }
  const timer = setTimeout(() => socket.destroy(connectTimeoutError(url, timeoutMs)), timeoutMs);
  socket.once("close", () => clearTimeout(timer));
  socket.once(url.protocol === "https:" ? "secureConnect" : "connect", () => {
    clearTimeout(timer);
    connected();
  });
}

/** The error for a connection that was not established in time. */
export function connectTimeoutError(url: URL, timeoutMs: number): EgressError {
  return new EgressError(
    "timeout",
    `could not reach ${url.origin}: no connection within ${timeoutMs} milliseconds`,
    { sent: false },
  );
}

/** A TLS socket reports its running handshake with a property of its own. */
function isConnecting(socket: Socket & { readonly secureConnecting?: boolean }): boolean {
  return socket.connecting || socket.secureConnecting === true;
}
