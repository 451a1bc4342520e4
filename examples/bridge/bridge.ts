import { type AgentServer, type ServeAgentOptions, connect, serve } from "convoke";

/** An agent behind the bridge. */
export interface Behind {
  readonly url: string;
  /** The credentials of the bridge there. Callers of the bridge never see them. */
  readonly token?: string;
}

/**
 * Serves agents that run elsewhere, whichever version of A2A they speak. What `connect` returns is an
 * agent like any other: the server stores its tasks, and speaks both versions to callers.
 */
export async function openBridge(
  agents: readonly Behind[],
  options: ServeAgentOptions,
): Promise<AgentServer> {
  const remotes = await Promise.all(
    agents.map(({ url, token }) => connect(url, token === undefined ? {} : { token })),
  );
  return serve(remotes, options);
}
