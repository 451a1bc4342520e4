import {
  type Agent,
  type AgentCardFacts,
  type AgentInfo,
  type AgentInterface,
  type ProtocolVersion,
  checkAgentExtensions,
} from "@convoke/protocol";
import { declaredExtensions } from "@convoke/engine";
import { extendedExtensions } from "./extended-extensions.ts";
import { header, type HttpRequest } from "../http/exchange.ts";
import { forwardedOf } from "../http/forwarded.ts";
import { isWildcard, type ServerAddress, urlOf } from "../node/address.ts";

/**
 * What is true of the served agent, which may say something else of itself each
 * time. The address is the public one if there is one, else where the server
 * listens; a server that listens everywhere, or inside an app, names the host it
 * was asked by, which the guard has checked.
 */
export function cardFacts(
  agent: Pick<Agent, "info">,
  options: {
    /** Where the server listens. Absent inside an app that has the port, where gRPC cannot be. */
    readonly address?: ServerAddress;
    readonly publicUrl?: string;
    readonly token?: string;
    /** Whether answers are streamed; by default they are. */
    readonly streams?: boolean;
    /** Whether updates are pushed; by default they are not. */
    readonly pushes?: boolean;
    readonly tenants?: readonly string[];
    /** Whether what a proxy says of the caller's way here is believed. */
    readonly trustProxy?: boolean;
    readonly hasExtendedCard?: boolean;
  },
): (request: HttpRequest) => AgentCardFacts {
  const { token, streams = true, pushes = false, tenants = [], hasExtendedCard = false } = options;
  // An agent need not come from `defineAgent`, which has looked at them already.
  checkAgentExtensions(agent.info.extensions ?? []);
  return (request) => {
    const { info } = agent;
    return {
      info,
      interfaces: interfacesAt(addressFor(request, options), tenants).filter(
        ({ binding }) => binding !== "GRPC" || options.address !== undefined,
      ),
      capabilities: {
        streaming: streams,
        pushNotifications: pushes,
        ...(hasExtendedCard && { extendedAgentCard: true }),
        extensions: declaredExtensions(info),
      },
      bearer: token !== undefined,
    };
  };
}

/** What is told to a caller whom the server knows: the same, with more in some places. */
export function extendedFacts(facts: AgentCardFacts, more: Partial<AgentInfo>): AgentCardFacts {
  const { capabilities } = facts;
  const extensions = extendedExtensions(facts.info.extensions, more.extensions);
  const info = { ...facts.info, ...more, extensions };
  return {
    ...facts,
    info,
    capabilities: { ...capabilities, extensions: declaredExtensions(info) },
  };
}

/** The address under which this caller reaches the agent. */
function addressFor(
  request: HttpRequest,
  { address, publicUrl, trustProxy = false }: Parameters<typeof cardFacts>[1],
): string {
  if (publicUrl !== undefined) return publicUrl;
  const scheme = request.isSecure ? "https" : "http";
  const { protocol = scheme, host } = trustProxy ? forwardedOf(request) : {};
  if (host !== undefined) return `${protocol}://${host}${request.basePath}/`;
  if (address !== undefined && !isWildcard(address.host)) return urlOf(address);
  const asked = header(request, "host") ?? "";
  const isNowhere = isWildcard(asked.replace(/:\d+$/, ""));
  if (address !== undefined && isNowhere) return urlOf(address);
  return `${protocol}://${asked}${request.basePath}/`;
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
