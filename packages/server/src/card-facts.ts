import type { AgentCardFacts, AgentInfo, AgentInterface, ProtocolVersion } from "@convoke/protocol";
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
    readonly tenants?: readonly string[];
  },
): (request: HttpRequest) => AgentCardFacts {
  const { address, publicUrl, token, pushes = false, tenants = [] } = options;
  const fixed = publicUrl ?? (isWildcard(address.host) ? undefined : urlOf(address));
  return (request) => {
    const asked = header(request, "host") ?? "";
    const isNowhere = isWildcard(asked.replace(/:\d+$/, ""));
    const url =
      fixed ??
      (isNowhere ? urlOf(address) : `${address.isSecure === true ? "https" : "http"}://${asked}/`);
    return {
      info,
      interfaces: interfacesAt(url, tenants),
      capabilities: { streaming: true, pushNotifications: pushes },
      bearer: token !== undefined,
    };
  };
}

const BINDINGS = ["JSONRPC", "HTTP+JSON", "GRPC"] as const;

/** Every binding in both versions at one address, and in 1.0 again for each tenant. */
function interfacesAt(url: string, tenants: readonly string[]): readonly AgentInterface[] {
  const at = (version: ProtocolVersion, tenant?: string): readonly AgentInterface[] =>
    BINDINGS.map((binding) => ({
      // gRPC is called by host and port (1.0 §4.4.6).
      url: binding === "GRPC" ? grpcTarget(url) : url,
      binding,
      version,
      ...(tenant !== undefined && { tenant }),
    }));
  return [...at("1.0"), ...tenants.flatMap((tenant) => at("1.0", tenant)), ...at("0.3")];
}

function grpcTarget(url: string): string {
  const { host, protocol, port } = new URL(url);
  return port === "" ? `${host}:${protocol === "https:" ? 443 : 80}` : host;
}
