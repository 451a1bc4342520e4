import {
  type Agent,
  type AgentCardFacts,
  type AgentExtension,
  type AgentInfo,
  type AgentInterface,
  type ProtocolVersion,
  checkAgentExtensions,
} from "@convoke/protocol";
import { declaredExtensions } from "@convoke/engine";
import { header, type HttpRequest } from "../http/exchange.ts";
import { type ServerAddress, parseForwarded, isWildcard, toUrl } from "../http/address.ts";

/**
 * Creates the card fields for a request. The agent info may change between
 * requests. The address is `publicUrl`, or where the server listens; on all
 * interfaces, or inside an app, it is the host of the request, which the guard has
 * checked.
 */
export function cardFacts(
  agent: Pick<Agent, "info">,
  options: {
    /** Where the server listens. Absent inside an app that owns the port, where gRPC is not available. */
    readonly address?: ServerAddress;
    readonly publicUrl?: string;
    readonly token?: string;
    /** Default true. */
    readonly streams?: boolean;
    /** Default false. */
    readonly pushes?: boolean;
    readonly tenants?: readonly string[];
    /** Whether the `Forwarded` headers are trusted. */
    readonly trustProxy?: boolean;
    readonly hasExtendedCard?: boolean;
  },
): (request: HttpRequest) => AgentCardFacts {
  const { token, streams = true, pushes = false, tenants = [], hasExtendedCard = false } = options;
  // Agents that were not created by `defineAgent` have not been validated.
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

/** The card fields for an authenticated caller: the public ones with some overrides. */
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

/** The URL under which the client reaches the agent. */
function addressFor(
  request: HttpRequest,
  { address, publicUrl, trustProxy = false }: Parameters<typeof cardFacts>[1],
): string {
  if (publicUrl !== undefined) return publicUrl;
  const scheme = request.isSecure ? "https" : "http";
  const { protocol = scheme, host } = trustProxy ? parseForwarded(request) : {};
  if (host !== undefined) return `${protocol}://${host}${request.basePath}/`;
  if (address !== undefined && !isWildcard(address.host)) return toUrl(address);
  const requested = header(request, "host") ?? "";
  const isUnusable = isWildcard(requested.replace(/:\d+$/, ""));
  if (address !== undefined && isUnusable) return toUrl(address);
  return `${protocol}://${requested}${request.basePath}/`;
}

const BINDINGS = ["JSONRPC", "HTTP+JSON", "GRPC"] as const;

/** All bindings in both versions at one address; in 1.0 also for each tenant. */
function interfacesAt(url: string, tenants: readonly string[]): readonly AgentInterface[] {
  const at = (version: ProtocolVersion, tenant?: string): readonly AgentInterface[] =>
    BINDINGS.map((binding) => ({
      // The address of gRPC is a host and a port (1.0 §4.4.6).
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

/**
 * The extensions of an extended card: those of the public card, with additions and overrides. It
 * cannot require more extensions: a client that knows only the public card would be rejected
 * without a way to know why.
 */
export function extendedExtensions(
  open: readonly AgentExtension[] = [],
  added: readonly AgentExtension[] = [],
): readonly AgentExtension[] {
  checkAgentExtensions(added);
  const required = new Set(open.filter((one) => one.required === true).map(({ uri }) => uri));
  const unexpected = added.find((one) => one.required === true && !required.has(one.uri));
  if (unexpected !== undefined) {
    throw new TypeError(
      `the extended card must not require ${unexpected.uri}, which the agent itself does not require`,
    );
  }
  const named = new Set(added.map(({ uri }) => uri));
  return [...open.filter(({ uri }) => !named.has(uri)), ...added];
}
