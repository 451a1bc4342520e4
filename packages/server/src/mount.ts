import type { Agent, Caller } from "@convoke/protocol";
import type { AgentOptions, CloseOptions } from "./agent-options.ts";
import { HostedAgent } from "./hosted-agent.ts";
import { checkedBasePath } from "./http/base-path.ts";
import type { HttpRequest } from "./http/exchange.ts";
import { type NodeListener, createNodeListener } from "./node/node-listener.ts";
import type { Backend, Recovered } from "@convoke/engine";
import { type FetchHandler, createFetchHandler } from "./web/fetch-handler.ts";

export interface MountOptions extends AgentOptions {
  /**
   * Who calls, where the app knows that already: it is asked instead of looking for a token. Nobody
   * is refused with 401. What it is given are the method, the path and the headers of the request.
   */
  readonly callerOf?: (
    request: Pick<HttpRequest, "method" | "path" | "headers">,
  ) => Caller | undefined;
  readonly openBackend: () => Promise<Backend>;
  /**
   * The path under which the app has the agent, such as "/agent". Express and
   * Connect tell it by themselves; by default it is the root.
   */
  readonly basePath?: string;
}

/** An agent inside an app that has the port: all that `serve` does, but gRPC, which needs one of its own. */
export interface Mounted extends AsyncDisposable {
  /** Answers a Web request: for Hono, Next, Bun, Deno and whatever else speaks `fetch`. */
  readonly fetch: FetchHandler;
  /** Takes requests of `node:http`: for Express, Fastify and whatever else is built on it. */
  readonly node: NodeListener;
  /** What became of the tasks that an earlier process had left unfinished. */
  readonly recovered: Recovered;
  /** Ends streams so that their readers come back, and closes the storage. Requests get 503 from then on. */
  close(options?: CloseOptions): Promise<void>;
}

/** Gives an agent to an app, which calls it for its requests. */
export async function mount(agent: Agent, options: MountOptions): Promise<Mounted> {
  const hosted = new HostedAgent(agent, options, checkedBasePath(options.basePath));
  const recovered = await hosted.open({ openBackend: options.openBackend });
  return {
    fetch: createFetchHandler(hosted.entrance),
    node: createNodeListener(hosted.entrance),
    recovered,
    close: (closing) => hosted.close(closing),
    [Symbol.asyncDispose]: () => hosted.close(),
  };
}
