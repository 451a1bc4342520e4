import { A2AError, type Caller } from "@convoke/protocol";
import { isUnnamed, unnamed } from "../auth/authenticator.ts";
import type { Cors } from "../http/cors.ts";
import { type HttpRequest, header } from "../http/exchange.ts";
import { parseForwarded } from "../http/address.ts";
import type { AddressFor, Authentication } from "./authenticate.ts";

export interface GuardOptions {
  readonly authentication: Authentication;
  /** Where the agent is, as the client reaches it. */
  readonly addressFor?: AddressFor;
  readonly allowedHosts?: readonly string[];
  /** The public URL of the agent; pages of its origin may call. */
  readonly publicUrl?: string;
  /** Whether the host that a proxy reports is checked as well. */
  readonly trustProxy?: boolean;
  /** Which pages of other origins may call. Default none. */
  readonly cors?: Pick<Cors, "allows">;
}

/** Checks the host, the origin and the caller of every request. */
export class Guard {
  readonly #checkHostName: (host: string | undefined) => void;
  readonly #trustProxy: boolean;
  readonly #publicHost: string | undefined;
  readonly #isListed: (origin: string) => boolean;
  readonly #authentication: Authentication;
  readonly #addressFor: AddressFor | undefined;

  constructor(options: GuardOptions) {
    const { authentication, allowedHosts = [], publicUrl, trustProxy = false, cors } = options;
    this.#authentication = authentication;
    this.#addressFor = options.addressFor;
    this.#checkHostName = createHostCheck(allowedHosts);
    this.#trustProxy = trustProxy;
    this.#publicHost = publicUrl === undefined ? undefined : new URL(publicUrl).host;
    this.#isListed = (origin) => cors?.allows(origin) === true;
  }

  /** Checks a request for public content, such as the card. */
  admit(request: HttpRequest): void {
    this.#checkHost(request);
  }

  /** Checks a preflight request, which has no token. */
  admitPage(request: HttpRequest): void {
    const forwarded = this.#checkHost(request);
    const hosts = [header(request, "host"), forwarded, this.#publicHost];
    checkOrigin(request, hosts, this.#isListed);
  }

  /** Checks any other request, and returns its caller. */
  async identify(request: HttpRequest): Promise<Caller> {
    this.admitPage(request);
    const identifying = this.#authentication.identify(request);
    const caller = identifying instanceof Promise ? await identifying : identifying;
    checkMediaType(request);
    return caller;
  }

  /** Whether the request has credentials in one of the headers that the card declares. */
  hasCredentials(request: HttpRequest): boolean {
    const schemes = Object.values(this.#authentication.security?.schemes ?? {});
    const names = schemes.flatMap((scheme) =>
      scheme.type === "apiKey" && scheme.in === "header" ? [scheme.name.toLowerCase()] : [],
    );
    return ["authorization", ...names].some((name) => header(request, name) !== undefined);
  }

  /** The `WWW-Authenticate` header of the response to a request that was rejected; `undefined` if it needs none. */
  challengeFor(request: HttpRequest, error: A2AError): string | undefined {
    const { requiredScopes } = error.details;
    if (error.reason === "Unauthenticated") {
      return this.#authentication.challengeAt(this.#addressFor?.(request));
    }
    const isBearer = /^bearer +\S/i.test(header(request, "authorization") ?? "");
    if (error.reason !== "Forbidden" || requiredScopes === undefined || !isBearer) return undefined;
    return this.#authentication.scopeChallengeAt(this.#addressFor?.(request), requiredScopes);
  }

  /** Returns the host that a trusted proxy reports. */
  #checkHost(request: HttpRequest): string | undefined {
    const named = header(request, "host");
    const authority = header(request, ":authority") ?? named;
    if (authority?.toLowerCase() !== named?.toLowerCase())
      throw forbidden("the Host header differs from :authority");
    this.#checkHostName(named);
    const { host } = this.#trustProxy ? parseForwarded(request) : {};
    if (host !== undefined) this.#checkHostName(host);
    return host;
  }
}

/** Host names that are always allowed. */
const LOCAL = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Rejects requests for other hosts. A web page that points its own DNS name at a
 * local address (DNS rebinding) sends that name.
 */
export function createHostCheck(allowed: readonly string[]): (host: string | undefined) => void {
  const names = new Set([...LOCAL, ...allowed.map((name) => name.toLowerCase())]);
  // The host of a server that listens on all interfaces is empty.
  names.delete("");
  return (host) => {
    const given = host?.toLowerCase() ?? "";
    if (names.has(given) || names.has(given.replace(/:\d+$/, ""))) return;
    throw forbidden(
      `host ${JSON.stringify(given)} is not served here; list it in CONVOKE_ALLOWED_HOSTS (allowedHosts)`,
    );
  };
}

/** Methods that change nothing; without CORS headers a page cannot read the response. */
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD"]);

/**
 * Rejects requests of pages of other origins. A browser sends them even to an agent
 * on the user's own machine. Programs other than browsers send no origin.
 *
 * @param hosts the host names of the request, which have been checked
 */
function checkOrigin(
  request: HttpRequest,
  hosts: readonly (string | undefined)[],
  isListed: (origin: string) => boolean,
): void {
  const origin = header(request, "origin");
  if (SAFE_METHODS.has(request.method)) return;
  if (origin === undefined) {
    if (header(request, "sec-fetch-site") !== "cross-site") return;
    throw forbidden("a page of another site may not call without its origin");
  }
  // A proxy may have terminated TLS, so the scheme is not compared.
  const host = URL.canParse(origin) ? new URL(origin).host : undefined;
  const isOwn =
    host !== undefined && host !== "" && hosts.some((own) => own?.toLowerCase() === host);
  if (isOwn || isListed(origin)) return;
  throw forbidden(
    `pages of ${JSON.stringify(origin)} may not call; list it in CONVOKE_CORS_ORIGINS (cors.origins)`,
  );
}

/** What a page can send to another origin without a preflight request, in addition to no type at all. */
const PAGE_TYPES =
  /^(?:text\/plain|application\/x-www-form-urlencoded|multipart\/form-data)(?:$|[\s;])/i;

/** Paths that do something without reading a body of a certain type, such as `/tasks/x:cancel`. */
const ACTION_PATHS = /^\/convoke\/|:\w+$/;

/** Rejects the forms that a page of another origin can send without asking. None of our requests needs them. */
function checkMediaType(request: HttpRequest): void {
  const type = header(request, "content-type") ?? "";
  const isSafe = SAFE_METHODS.has(request.method) || !ACTION_PATHS.test(request.path);
  if (isSafe || !PAGE_TYPES.test(type)) return;
  throw new A2AError(
    "UnsupportedMediaType",
    `Content-Type is ${type.split(";")[0]}; it must be application/json`,
    { field: "Content-Type" },
  );
}

function forbidden(detail: string): A2AError {
  return new A2AError("Forbidden", detail, { details: { reason: "forbidden" } });
}

/**
 * The caller within a tenant. The same caller is a different owner in each tenant,
 * so tasks of one tenant are invisible in another. A caller that belongs to a tenant stays in it.
 * A server without tenants lists none on its card, so requests must not name one (1.0 §8.3.2).
 */
export function scopedCaller(
  caller: Caller,
  named: string | undefined,
  tenants: ReadonlySet<string>,
): Caller {
  const tenant = named === "" ? undefined : named;
  const own = caller.tenant;
  if (tenant !== undefined && !(own === undefined ? tenants.has(tenant) : tenant === own)) {
    throw new A2AError("InvalidParams", `tenant ${JSON.stringify(tenant)} is not served here`, {
      field: "tenant",
    });
  }
  const effective = own ?? tenant;
  if (effective !== undefined) {
    const scoped = { ...caller, tenant: effective, owner: scopedOwner(effective, caller.owner) };
    return isUnnamed(caller) ? unnamed(scoped) : scoped;
  }
  return isScoped(caller.owner) ? { ...caller, owner: scopedOwner("", caller.owner) } : caller;
}

function scopedOwner(tenant: string, owner: string): string {
  return JSON.stringify([tenant, owner]);
}

/** The opposite of `scopedCaller`: the name of an owner and its tenant, as credentials have them. */
export function unscopedOwner(owner: string): Pick<Caller, "owner" | "tenant"> {
  if (!isScoped(owner)) return { owner };
  const [tenant, name] = JSON.parse(owner) as [string, string];
  return tenant === "" ? { owner: name } : { owner: name, tenant };
}

/** Whether an owner belongs to a tenant. */
export function isOwnerIn(tenant: string, owner: string): boolean {
  return isScoped(owner) && owner.startsWith(`[${JSON.stringify(tenant)},`);
}

/**
 * Whether an owner looks like that of a tenant. One outside of all tenants must not, or it would be
 * the same owner; it gets the empty tenant, which no request can name.
 */
function isScoped(owner: string): boolean {
  if (!owner.startsWith('["')) return false;
  try {
    const parts: unknown = JSON.parse(owner);
    return Array.isArray(parts) && parts.length === 2 && JSON.stringify(parts) === owner;
  } catch {
    return false;
  }
}

/** The tenant in the parameters of a 1.0 request. */
export function parseTenant(params: unknown): string | undefined {
  const tenant = (params as { readonly tenant?: unknown } | null | undefined)?.tenant;
  if (tenant === undefined || tenant === null) return undefined;
  if (typeof tenant === "string") return tenant;
  throw new A2AError("InvalidParams", "tenant must be a string", { field: "tenant" });
}
