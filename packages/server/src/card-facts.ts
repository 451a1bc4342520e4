import type { AgentCardFacts, AgentInfo } from "@convoke/protocol";
import { type HttpRequest, header } from "./http/exchange.ts";
import { type ServerAddress, urlOf } from "./node/address.ts";

/** Addresses that mean "every interface" and so lead nowhere. */
const WILDCARDS: ReadonlySet<string> = new Set(["0.0.0.0", "::", ""]);

/**
 * What is true of the served agent. The address is the public one if there is
 * one, else where the server listens; a server that listens everywhere names
 * the host it was asked by, which the guard has checked.
 */
export function cardFacts(
  info: AgentInfo,
  options: {
    readonly address: ServerAddress;
    readonly publicUrl?: string;
    readonly token?: string;
  },
): (request: HttpRequest) => AgentCardFacts {
  const { address, publicUrl, token } = options;
  const fixed = publicUrl ?? (WILDCARDS.has(address.host) ? undefined : urlOf(address));
  return (request) => {
    const url = fixed ?? `http://${header(request, "host")}/`;
    return {
      info,
      interfaces: [
        { url, binding: "JSONRPC", version: "1.0" },
        { url, binding: "JSONRPC", version: "0.3" },
      ],
      capabilities: { streaming: true, pushNotifications: false },
      bearer: token !== undefined,
    };
  };
}
