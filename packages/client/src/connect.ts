import { type ChosenInterface, chooseInterface } from "./choose-interface.ts";
import { type DiscoverOptions, discover } from "./discover.ts";
import { ClientError } from "./errors.ts";
import { Http } from "./http.ts";
import { RemoteAgent } from "./remote-agent.ts";
import { JsonRpcTransport } from "./transports/jsonrpc.ts";

/** `signal` ends the connecting; each call takes one of its own. */
export type ConnectOptions = DiscoverOptions;

/** Finds the agent at `url`, its base address or that of its card, and chooses how to speak to it. */
export async function connect(url: string, options: ConnectOptions = {}): Promise<RemoteAgent> {
  const discovered = await discover(url, options);
  const chosen = chooseInterface(discovered, options.version);
  const { origin } = new URL(url);
  if (options.token !== undefined) refuseOtherOrigin(chosen, origin);
  const { token, fetch } = options;
  const http = new Http({ version: chosen.version, origin, token, fetch });
  return new RemoteAgent(discovered.card, new JsonRpcTransport(chosen, http));
}

/** Going on without the token would only fail later and say less. */
function refuseOtherOrigin({ url }: ChosenInterface, origin: string): void {
  const other = new URL(url).origin;
  if (other === origin) return;
  throw new ClientError(
    "other-origin",
    `the token was given for ${origin}, but the card there leads to ${other}; ` +
      `it is not sent to another origin. If you trust that address, connect to ${other} itself`,
  );
}
