import {
  type Authenticator,
  type ConnectOptions,
  type OAuthOptions,
  type ServeAgentOptions,
  connect,
  serve,
} from "convoke";
import { onTestFinished } from "vitest";
import { knowingAgent } from "../auth/a-knowing-agent.ts";
import { keptPort } from "../harness/kept-port.ts";

/**
 * An agent that tells its callers who they are. `guard` gets its origin, which tokens are for, and
 * returns the ways to authenticate, or a function and what the card says about it.
 */
export async function aGuardedAgent(
  guard: (
    origin: string,
  ) =>
    | { readonly auth: readonly Authenticator[] }
    | Pick<ServeAgentOptions, "authenticate" | "securitySchemes" | "security">,
): Promise<string> {
  const port = await keptPort();
  const url = `http://127.0.0.1:${port}`;
  const server = await serve(knowingAgent, { port, data: "memory", ...guard(url) });
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
