import type { AddressInfo, Server as NetServer } from "node:net";
import type { Agent } from "@convoke/protocol";
import type { AgentOptions, CloseOptions } from "./agent-options.ts";
import { HostedAgent } from "./hosted-agent.ts";
import { type ServerAddress, isWildcard, urlOf } from "./node/address.ts";
import { createNodeListener } from "./node/node-listener.ts";
import { Port, type TlsOptions } from "./node/port.ts";
import type { Backend, Recovered } from "@convoke/engine";
import { type FetchHandler, createFetchHandler } from "./web/fetch-handler.ts";

export interface ServeOptions extends AgentOptions {
  /** 0 picks a free one. */
  readonly port: number;
  /** The address to listen on. */
  readonly host: string;
  /** Opens the storage; called once the port is ours. */
  readonly openBackend: (address: ServerAddress) => Promise<Backend>;
  /** Serves HTTPS, with this certificate. */
  readonly tls?: TlsOptions;
}

/** A running server. */
export interface Server extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** What became of the tasks that an earlier process had left unfinished. */
  readonly recovered: Recovered;
  /** Answers a request as the port would, without it. */
  readonly fetch: FetchHandler;
  close(options?: CloseOptions): Promise<void>;
}

/**
 * Serves an agent. The port is bound before the storage is opened, so that a
 * second server fails on the port and never touches the data of the first;
 * requests that come in between wait.
 */
export async function serve(agent: Agent, options: ServeOptions): Promise<Server> {
  const hosted = new HostedAgent(agent, options);
  const port = new Port({
    listener: createNodeListener(hosted.entrance),
    tls: options.tls,
    onSession: (session) => {
      const silence = hosted.keepAlive.watch(() => {
        // A destroyed session stays until its socket is closed, and throws when it is pinged.
        if (session.destroyed) return silence.stop();
        session.ping(() => undefined);
      });
      return () => silence.stop();
    },
  });
  const address = await listen(port.net, options);
  try {
    const openBackend = (): Promise<Backend> => options.openBackend(address);
    const recovered = await hosted.open({ address, openBackend });
    const close = (closing?: CloseOptions): Promise<void> =>
      hosted.close(closing, () => port.close());
    return {
      url: options.publicUrl ?? urlOf(address),
      port: address.port,
      recovered,
      fetch: createFetchHandler(hosted.entrance),
      close,
      [Symbol.asyncDispose]: () => close(),
    };
  } catch (error) {
    port.net.close();
    port.closeAllConnections();
    throw error;
  }
}

function listen(net: NetServer, { port, host, tls }: ServeOptions): Promise<ServerAddress> {
  return new Promise((resolve, reject) => {
    net.once("error", reject);
    net.listen({ port, host }, () => {
      net.off("error", reject);
      const bound = net.address() as AddressInfo;
      // "Every interface" has many spellings, and one address.
      resolve({
        host: isWildcard(bound.address) ? bound.address : host,
        port: bound.port,
        isSecure: tls !== undefined,
      });
    });
  });
}
