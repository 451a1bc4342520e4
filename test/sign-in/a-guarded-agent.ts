import {
  type Authenticator,
  type ConnectOptions,
  type OAuthOptions,
  connect,
  serve,
} from "convoke";
import { onTestFinished } from "vitest";
import { knowingAgent } from "../auth/a-knowing-agent.ts";
import { keptPort } from "../harness/kept-port.ts";

/** An agent that tells its callers who they are, guarded by `auth`. Tokens are for its origin. */
export async function aGuardedAgent(
  auth: (origin: string) => readonly Authenticator[],
): Promise<string> {
  const port = await keptPort();
  const url = `http://127.0.0.1:${port}`;
  const server = await serve(knowingAgent, { port, data: "memory", auth: auth(url) });
  onTestFinished(() => server.close());
  return url;
}

/** What the agent knows about its caller. */
export interface KnownCaller {
  readonly owner: string;
  readonly scopes: readonly string[];
}

export async function anAgentFor(url: string, oauth: OAuthOptions, more: ConnectOptions = {}) {
  const agent = await connect(url, { auth: { oauth }, cache: false, ...more });
  onTestFinished(() => agent.close());
  return agent;
}

export async function whoAmI(agent: Awaited<ReturnType<typeof connect>>): Promise<KnownCaller> {
  return JSON.parse((await agent.send("who?")).text) as KnownCaller;
}
