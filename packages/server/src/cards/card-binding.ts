import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import {
  type Agent,
  type AgentCardFacts,
  type AgentExtension,
  type AgentInfo,
  type AgentInterface,
  type CardKey,
  type CardSecurity,
  type ProtocolVersion,
  buildCard,
  checkAgentExtensions,
  publicKeySet,
  signCard,
} from "@convoke/protocol";
import {
  type HttpRequest,
  type HttpResponse,
  header,
  jsonResponse,
  requestedVersion,
} from "../http/exchange.ts";
import { declaredExtensions } from "@convoke/engine";
import {
  type ServerAddress,
  checkBasePath,
  isWildcard,
  parseForwarded,
  toUrl,
} from "../http/address.ts";

export const CARD_PATH = "/.well-known/agent-card.json";

/** The path of the card, and its path before A2A 0.3. */
export const CARD_PATHS: ReadonlySet<string> = new Set([CARD_PATH, "/.well-known/agent.json"]);

/** The public keys that verify the card. */
export const KEYS_PATH = "/.well-known/jwks.json";

/** Limits the cache, because clients can send any port in their Host header. */
const MAX_CACHED = 64;

/**
 * The format of the card. `negotiated`: the version that the client asks for, or a hybrid if it asks
 * for none. `hybrid`: a card that clients of both versions can read. `v1`, `v03`: always this version.
 */
export type CardForm = "negotiated" | "hybrid" | "v1" | "v03";

export interface CardOptions {
  /** Default `negotiated`. */
  readonly form?: CardForm;
  /**
   * The bindings on the card, in order of preference. Default: JSON-RPC, HTTP+JSON, gRPC. Those that
   * are left out still work.
   */
  readonly bindings?: readonly AgentInterface["binding"][];
  /**
   * The address of gRPC on the card, as it is, such as "grpc.example.com:443". Default: the host and
   * the port of the other bindings. If it is a URL with a path, gRPC is served below that path, too.
   */
  readonly grpcUrl?: string;
  /** The organization, for an agent that names none. Default none. */
  readonly provider?: AgentInfo["provider"];
  /** Where the documentation is, for an agent that does not say it. Default none. */
  readonly documentationUrl?: string;
  /** Sign 1.0 and hybrid cards. Default none: cards are not signed. 0.3 does not define signing. */
  readonly keys?: readonly CardKey[];
}

interface Built {
  readonly text: string;
  readonly etag: string;
}

/** The cards for one state of the agent info. */
interface Edition {
  readonly info: AgentInfo;
  readonly date: string;
  /**
   * Whether another card may have this date or an earlier one although it is newer: the previous
   * edition, because dates have a resolution of seconds, or that of another server. Then the date of
   * a request is not used.
   */
  readonly isDateAmbiguous: boolean;
  readonly built: Map<string, Promise<Built>>;
}

/**
 * Serves the card of the agent. Each format is built and signed once per address,
 * until the agent changes its info.
 */
export class CardBinding {
  readonly #facts: (request: HttpRequest) => AgentCardFacts;
  readonly #form: CardForm;
  readonly #keys: readonly CardKey[];
  readonly #isOneOfSeveral: boolean;
  readonly #firstDate = new Date().toUTCString();
  #edition: Edition | undefined;

  /** @param isOneOfSeveral whether other servers have the same address, and each its own dates. Default false. */
  constructor(
    facts: (request: HttpRequest) => AgentCardFacts,
    options: CardOptions = {},
    isOneOfSeveral = false,
  ) {
    this.#facts = facts;
    this.#isOneOfSeveral = isOneOfSeveral;
    this.#form = options.form ?? "negotiated";
    this.#keys = options.keys ?? [];
  }

  async handle(request: HttpRequest): Promise<HttpResponse> {
    const facts = this.#facts(request);
    const edition = this.#editionFor(facts.info);
    const { text, etag } = await this.#build(edition, facts, this.#version(request));
    const headers = {
      etag,
      "last-modified": edition.date,
      vary: "A2A-Version",
      "cache-control": "public, max-age=300",
      "access-control-allow-origin": "*",
    };
    if (isNotModified(request, etag, edition)) return { status: 304, headers, body: "" };
    return jsonResponse(200, text, headers);
  }

  /** The public keys that verify the card. */
  keySet(): HttpResponse {
    return jsonResponse(200, JSON.stringify(publicKeySet(this.#keys)), {
      "cache-control": "public, max-age=300",
      "access-control-allow-origin": "*",
    });
  }

  #version(request: HttpRequest): ProtocolVersion | undefined {
    switch (this.#form) {
      case "negotiated":
        return requestedVersion(request);
      case "hybrid":
        return undefined;
      case "v1":
        return "1.0";
      case "v03":
        return "0.3";
      default:
        return this.#form satisfies never;
    }
  }

  #editionFor(info: AgentInfo): Edition {
    const last = this.#edition;
    if (last?.info === info) return last;
    // An agent may create equal info objects for each request.
    if (last !== undefined && isDeepStrictEqual(last.info, info)) return last;
    const date = last === undefined ? this.#firstDate : new Date().toUTCString();
    const isDateAmbiguous = this.#isOneOfSeveral || date === last?.date;
    this.#edition = { info, date, isDateAmbiguous, built: new Map() };
    return this.#edition;
  }

  #build(
    { built }: Edition,
    facts: AgentCardFacts,
    version: ProtocolVersion | undefined,
  ): Promise<Built> {
    const urls = new Set(facts.interfaces.map(({ url }) => url));
    const key = [version ?? "hybrid", ...urls].join(" ");
    const known = built.get(key);
    if (known !== undefined) return known;
    if (built.size >= MAX_CACHED) built.clear();
    const writing = this.#write(facts, version);
    built.set(key, writing);
    return writing;
  }

  async #write(facts: AgentCardFacts, version: ProtocolVersion | undefined): Promise<Built> {
    const card = buildCard(facts, version);
    // 0.3 has a field for signatures, but does not define what they sign.
    const isSigned = this.#keys.length > 0 && version !== "0.3";
    const text = JSON.stringify(isSigned ? await signCard(card, this.#keys) : card);
    return { text, etag: `"${createHash("sha256").update(text).digest("base64url")}"` };
  }
}

/** An ETag has precedence over a date (RFC 9110 §13.2.2). */
function isNotModified(
  request: HttpRequest,
  etag: string,
  { date, isDateAmbiguous }: Edition,
): boolean {
  const tags = header(request, "if-none-match");
  if (tags !== undefined) return hasTag(tags, etag);
  const since = Date.parse(header(request, "if-modified-since") ?? "");
  return !isDateAmbiguous && since >= Date.parse(date);
}

/** A proxy may have weakened the tag or put it into a list (RFC 9110 §13.1.2). */
function hasTag(ifNoneMatch: string, etag: string): boolean {
  return ifNoneMatch.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
}

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
    /** How callers authenticate. Absent if every caller is accepted. */
    readonly security?: CardSecurity | undefined;
    /** Default true. */
    readonly streams?: boolean;
    /** Default false. */
    readonly pushes?: boolean;
    readonly tenants?: readonly string[];
    /** Whether the `Forwarded` headers are trusted. */
    readonly trustProxy?: boolean;
    readonly hasExtendedCard?: boolean;
    readonly card?: Omit<CardOptions, "form" | "keys">;
  },
): (request: HttpRequest) => AgentCardFacts {
  const { security, streams = true, pushes = false, hasExtendedCard = false } = options;
  const { bindings = BINDINGS } = options.card ?? {};
  const unknown = bindings.find((binding) => !BINDINGS.includes(binding));
  if (unknown !== undefined || bindings.length === 0) {
    throw new TypeError(
      `card.bindings must be some of ${BINDINGS.join(", ")}, not ${JSON.stringify(unknown ?? [])}`,
    );
  }
  // Agents that were not created by `defineAgent` have not been validated.
  checkAgentExtensions(agent.info.extensions ?? []);
  const withDefaults = infoDefaults(options.card);
  return (request) => {
    const info = withDefaults(agent.info);
    return {
      info,
      interfaces: interfacesAt(request, bindings, options),
      capabilities: {
        streaming: streams,
        pushNotifications: pushes,
        ...(hasExtendedCard && { extendedAgentCard: true }),
        extensions: declaredExtensions(info),
      },
      ...(security && { security }),
    };
  };
}

/** Adds what the agent does not say itself. Returns the same object for the same info. */
function infoDefaults({
  provider,
  documentationUrl,
}: Pick<CardOptions, "provider" | "documentationUrl"> = {}): (info: AgentInfo) => AgentInfo {
  if (provider === undefined && documentationUrl === undefined) return (info) => info;
  const defaults = { ...(provider && { provider }), ...(documentationUrl && { documentationUrl }) };
  let last: { readonly given: AgentInfo; readonly shown: AgentInfo } | undefined;
  return (info) => {
    if (last?.given !== info) last = { given: info, shown: { ...defaults, ...info } };
    return last.shown;
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

/** Describes the agent to OAuth clients, which learn from it where to get a token (RFC 9728 §2). */
export function protectedResource(facts: {
  readonly address: string;
  readonly name: string;
  readonly authorizationServers: readonly string[];
}): HttpResponse {
  const { address, name, authorizationServers } = facts;
  const metadata = {
    resource: address,
    resource_name: name,
    authorization_servers: authorizationServers,
    bearer_methods_supported: ["header"],
  };
  return jsonResponse(200, JSON.stringify(metadata), {
    "cache-control": "public, max-age=300",
    "access-control-allow-origin": "*",
  });
}

/** The URL under which the client reaches the agent. It ends without a slash, because clients append a path that begins with one. */
export function addressFor(request: HttpRequest, options: OriginOptions): string {
  return rootAddressFor(request, options) + (request.agentPath ?? "");
}

/** The URL under which the client reaches the server, without a slash at its end. */
export function rootAddressFor(request: HttpRequest, options: OriginOptions): string {
  return fullAddressFor(request, options).replace(/\/+$/, "");
}

type OriginOptions = Pick<Parameters<typeof cardFacts>[1], "address" | "publicUrl" | "trustProxy">;

function fullAddressFor(
  request: HttpRequest,
  { address, publicUrl, trustProxy = false }: OriginOptions,
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

/** The bindings in both versions at one address; in 1.0 also for each tenant. */
function interfacesAt(
  request: HttpRequest,
  bindings: readonly AgentInterface["binding"][],
  options: Parameters<typeof cardFacts>[1],
): readonly AgentInterface[] {
  const { tenants = [], address, card } = options;
  const url = addressFor(request, options);
  // The address of gRPC is a host and a port (1.0 §4.4.6).
  const grpcUrl = card?.grpcUrl ?? (address && grpcTarget(url));
  const at = (version: ProtocolVersion, tenant?: string): readonly AgentInterface[] =>
    bindings.flatMap((binding) => {
      const isGrpc = binding === "GRPC";
      const own = isGrpc ? grpcUrl : url;
      const named = isGrpc ? grpcTenant(request, tenant) : tenant;
      // 0.3 has no tenants.
      if (own === undefined || (version === "0.3" && named !== undefined)) return [];
      return [{ url: own, binding, version, ...(named !== undefined && { tenant: named }) }];
    });
  return [...at("1.0"), ...tenants.flatMap((tenant) => at("1.0", tenant)), ...at("0.3")];
}

/** gRPC addresses have no paths, so one of several agents is addressed as a tenant: see `addressAgent`. */
function grpcTenant({ agentPath }: HttpRequest, tenant: string | undefined): string | undefined {
  if (agentPath === undefined) return tenant;
  const name = agentPath.slice(1);
  return tenant === undefined ? name : `${name}/${tenant}`;
}

/** The path of a gRPC address that is a URL; empty for the root. */
export function grpcBasePath({ grpcUrl = "" }: CardOptions = {}): string {
  return grpcUrl.includes("://") ? checkBasePath(new URL(grpcUrl).pathname) : "";
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
