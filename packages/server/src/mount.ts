import type { Agent, Caller } from "@convoke/protocol";
import type { AgentOptions, CloseOptions } from "./agent-options.ts";
import { HostedAgent } from "./hosted-agent.ts";
import { checkBasePath } from "./http/address.ts";
import type { HttpRequest } from "./http/exchange.ts";
import { type NodeListener, createNodeListener } from "./node/node-listener.ts";
import type { Backend, Recovered } from "@convoke/engine";
import { type FetchHandler, createFetchHandler } from "./web/fetch-handler.ts";

export interface MountOptions extends AgentOptions {
  /**
   * Identifies the caller, if the app has authenticated the request already. Used instead of
   * `token`. Return `undefined` to reject the request with 401.
   */
  readonly callerOf?: (
    request: Pick<HttpRequest, "method" | "path" | "headers">,
  ) => Caller | undefined;
  /** Opens the storage. */
  readonly openBackend: () => Promise<Backend>;
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
  readonly recovered: Recovered;
  /** Ends streams so that clients reconnect, and closes the agent and the storage. Later requests get 503. */
  close(options?: CloseOptions): Promise<void>;
}

/** Embeds an agent in an app, which passes its requests to it. */
export async function mount(agent: Agent, options: MountOptions): Promise<Mounted> {
  const hosted = new HostedAgent(agent, options, checkBasePath(options.basePath));
  const recovered = await hosted.open({ openBackend: options.openBackend });
  return {
    fetch: createFetchHandler(hosted.handler),
    node: createNodeListener(hosted.handler),
    recovered,
    close: (closing) => hosted.close(closing),
    [Symbol.asyncDispose]: () => hosted.close(),
  };
}
