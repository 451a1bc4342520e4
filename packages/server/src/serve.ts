import type { AddressInfo, Server as NetServer } from "node:net";
import type { Agent, Metrics } from "@convoke/protocol";
import { isLoopbackHost } from "@convoke/protocol/internal";
import type { AgentOptions, AgentStorage, CloseOptions } from "./agent-options.ts";
import { Host } from "./host.ts";
import type { ServerAgent } from "./hosted-agents.ts";
import { type ServerAddress, checkBasePath, isWildcard, toUrl } from "./http/address.ts";
import { type NodeListener, createNodeListener } from "./node/node-listener.ts";
import { Port, type TlsOptions } from "./node/port.ts";
import type { Backend, RecoveryReport } from "@convoke/engine";
import { type FetchHandler, createFetchHandler } from "./web/fetch-handler.ts";

export interface ServeOptions extends AgentOptions {
  /** The TCP port. 0 picks a free one. */
  readonly port: number;
  /** The address to listen on, such as "127.0.0.1" for this machine only or "0.0.0.0" for all interfaces. */
  readonly host: string;
  /** Opens the storage. Called after the port is bound, so that a second server cannot touch the data of the first. */
  readonly openBackend: (
    address: ServerAddress,
    metrics: Metrics | undefined,
  ) => Promise<Backend | AgentStorage>;
  /** Serves HTTPS with this certificate. Default: plain HTTP. */
  readonly tls?: TlsOptions;
  /**
   * Accepts every caller on an address other than loopback, too. Default false: such a server must
   * authenticate its callers, or it does not start.
   */
  readonly allowAnonymous?: boolean;
}

/** A running server. */
export interface Server extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** What happened to the unfinished tasks of an earlier process. */
  readonly recovered: RecoveryReport;
  /** The agents as they are whenever they are read. */
  readonly agents: Iterable<ServerAgent>;
  /** Handles a request without the network, for example in tests. */
  readonly fetch: FetchHandler;
  /** Stops the server: ends streams so that clients reconnect, and closes the agent and the storage. */
  close(options?: CloseOptions): Promise<void>;
}

/**
 * Serves an agent on a port: JSON-RPC, HTTP+JSON and gRPC, in A2A 1.0 and 0.3. Several agents are
 * served at `/agents/<id>`, and the first one also at the root. The port is bound before the storage is opened, so that a second server fails
 * without touching the data of the first. Requests that arrive in between wait.
 */
export async function serve(
  agent: Agent | readonly Agent[],
  options: ServeOptions,
): Promise<Server> {
  const isLocal = isLoopbackHost(options.host);
  const hosted = new Host(agent, options, { basePath: "", isLocal });
  checkReach(hosted.authentication, options);
  const port = new Port({
    listener: createNodeListener(hosted.handler),
    tls: options.tls,
    timeouts: hosted.handler.timeouts,
    limits: hosted.connectionLimits,
    onLimit: hosted.handler.onLimit,
    onSession: (session) => {
      let unanswered = 0;
      const onIdle = (): void => {
        // A destroyed session remains until its socket is closed, and throws if it is pinged.
        if (session.destroyed) return idleTimer.stop();
        // The client is gone, although its connection was never closed.
        if (unanswered >= MAX_UNANSWERED) return session.destroy();
        unanswered++;
        session.ping(() => (unanswered = 0));
      };
      const idleTimer = hosted.keepAlive.start({ onIdle });
      return () => idleTimer.stop();
    },
  });
  const address = await listen(port.net, options);
  try {
    const recovered = await hosted.open({
      address,
      openBackend: (metrics) => options.openBackend(address, metrics),
    });
    const close = (closing?: CloseOptions): Promise<void> =>
      hosted.close(closing, () => port.close());
    return {
      url: options.publicUrl ?? toUrl(address),
      port: address.port,
      recovered,
      agents: await hosted.agents,
      fetch: createFetchHandler(hosted.handler),
      close,
      [Symbol.asyncDispose]: () => close(),
    };
  } catch (error) {
    port.net.close();
    port.closeAllConnections();
    throw error;
  }
}

/** Rejects a server that strangers could use, and client certificates that nobody checks. */
function checkReach(
  { security, needsCertificates }: Host["authentication"],
  { host, tls, allowAnonymous = false }: ServeOptions,
): void {
  if (needsCertificates && tls?.ca === undefined) {
    throw new TypeError("mtls() needs tls.ca, the authorities that sign the client certificates");
  }
  if (security !== undefined || allowAnonymous || isLoopbackHost(host)) return;
  throw new TypeError(
    `this server would be reachable from outside on ${host} without authentication: set auth, ` +
      "token or authenticate, or allowAnonymous: true",
  );
}

/** After so many pings without an answer, the connection is closed. */
const MAX_UNANSWERED = 2;

function listen(net: NetServer, options: ServeOptions): Promise<ServerAddress> {
  const { port, host, tls } = options;
  return new Promise((resolve, reject) => {
    net.once("error", reject);
    net.listen({ port, host }, () => {
      net.off("error", reject);
      const bound = net.address() as AddressInfo;
      // Use the bound address if all interfaces were requested, because there are several ways to write that.
      resolve({
        host: isWildcard(bound.address) ? bound.address : host,
        port: bound.port,
        isSecure: tls !== undefined,
      });
    });
  });
}

export interface MountOptions extends AgentOptions {
  /** Opens the storage. */
  readonly openBackend: (metrics: Metrics | undefined) => Promise<Backend | AgentStorage>;
  /**
   * The path under which the app serves the agent, such as "/agent". Default: the path that Express
   * or Connect have mounted it on, otherwise the root.
   */
  readonly basePath?: string;
}

/** An agent inside an app that owns the port. It supports everything except gRPC, which needs its own port. */
export interface Mounted extends AsyncDisposable {
  /** Handles Web requests: for Hono, Next, Bun, Deno and other `fetch` frameworks. */
  readonly fetch: FetchHandler;
  /** Handles requests of `node:http`: for Express, Fastify and other Node frameworks. */
  readonly node: NodeListener;
  /** What happened to the unfinished tasks of an earlier process. */
  readonly recovered: RecoveryReport;
  /** The agents as they are whenever they are read. */
  readonly agents: Iterable<ServerAgent>;
  /** Ends streams so that clients reconnect, and closes the agent and the storage. Later requests get 503. */
  close(options?: CloseOptions): Promise<void>;
}

/** Embeds one or several agents in an app, which passes its requests to them. */
export async function mount(
  agent: Agent | readonly Agent[],
  options: MountOptions,
): Promise<Mounted> {
  const basePath = checkBasePath(options.basePath);
  const hosted = new Host(agent, options, { basePath, isLocal: false });
  const recovered = await hosted.open({ openBackend: options.openBackend });
  return {
    fetch: createFetchHandler(hosted.handler),
    node: createNodeListener(hosted.handler),
    recovered,
    agents: await hosted.agents,
    close: (closing) => hosted.close(closing),
    [Symbol.asyncDispose]: () => hosted.close(),
  };
}
