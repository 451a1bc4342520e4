import type { AgentCardFacts, AgentInfo } from "@convoke/protocol";
import { type HttpRequest, header } from "./http/exchange.ts";
import { type ServerAddress, isWildcard, urlOf } from "./node/address.ts";

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
    /** Whether updates are pushed; by default they are not. */
    readonly pushes?: boolean;
  },
): (request: HttpRequest) => AgentCardFacts {
  const { address, publicUrl, token, pushes = false } = options;
  const fixed = publicUrl ?? (isWildcard(address.host) ? undefined : urlOf(address));
  return (request) => {
    const asked = header(request, "host") ?? "";
    const isNowhere = isWildcard(asked.replace(/:\d+$/, ""));
    const url = fixed ?? (isNowhere ? urlOf(address) : `http://${asked}/`);
    return {
      info,
      interfaces: [
        { url, binding: "JSONRPC", version: "1.0" },
        { url, binding: "JSONRPC", version: "0.3" },
      ],
      capabilities: { streaming: true, pushNotifications: pushes },
      bearer: token !== undefined,
    };
  };
}
