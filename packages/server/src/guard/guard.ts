import { A2AError, type Caller } from "@convoke/protocol";
import type { Cors } from "../http/cors.ts";
import { type HttpRequest, header } from "../http/exchange.ts";
import { parseForwarded } from "../http/address.ts";
import { createHash, timingSafeEqual } from "node:crypto";

/** No authentication: all callers are the same owner. */
export const authenticateAnyone: Authenticate = () => ({ owner: "anonymous" });

export interface GuardOptions {
  /** The bearer token that callers must send. */
  readonly token?: string;
  readonly allowedHosts?: readonly string[];
  /** The public URL of the agent; pages of its origin may call. */
  readonly publicUrl?: string;
  /** Whether the host that a proxy reports is checked as well. */
  readonly trustProxy?: boolean;
  /** Which pages of other origins may call. Default none. */
  readonly cors?: Pick<Cors, "allows">;
  /** Identifies the caller instead of a token, for apps that authenticate requests themselves. */
  readonly callerOf?: (request: HttpRequest) => Caller | undefined;
}

/** Checks the host, the origin and the caller of every request. */
export class Guard {
  #checkHostName: (host: string | undefined) => void;
  #trustProxy: boolean;
  #publicHost: string | undefined;
  #isListed: (origin: string) => boolean;
  #authenticate: Authenticate;
  #callerOf: GuardOptions["callerOf"];

  constructor(options: GuardOptions) {
    const { token, allowedHosts = [], publicUrl, trustProxy = false, cors, callerOf } = options;
    if (token !== undefined && callerOf !== undefined) {
      throw new TypeError("token and callerOf cannot be combined: both identify the caller");
    }
    this.#callerOf = callerOf;
    this.#checkHostName = createHostCheck(allowedHosts);
    this.#trustProxy = trustProxy;
    this.#publicHost = publicUrl === undefined ? undefined : new URL(publicUrl).host;
    this.#isListed = (origin) => cors?.allows(origin) === true;
    this.#authenticate = token === undefined ? authenticateAnyone : createBearerCheck(token);
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
  identify(request: HttpRequest): Caller {
    this.admitPage(request);
    if (this.#callerOf !== undefined) return requireCaller(this.#callerOf(request));
    return this.#authenticate(header(request, "authorization"));
  }

  /** Returns the host that a trusted proxy reports. */
  #checkHost(request: HttpRequest): string | undefined {
    this.#checkHostName(header(request, "host"));
    const { host } = this.#trustProxy ? parseForwarded(request) : {};
    if (host !== undefined) this.#checkHostName(host);
    return host;
  }
}

function requireCaller(caller: Caller | undefined): Caller {
  if (caller !== undefined) return caller;
  const detail = "it is not known who calls";
  throw new A2AError("Unauthenticated", detail, { details: { reason: "unauthenticated" } });
}

/** Returns the caller, or throws. */
type Authenticate = (authorization: string | undefined) => Caller;

/**
 * Checks a bearer token. Hashes are compared, so that timing reveals nothing about
 * the token or its length.
 */
export function createBearerCheck(token: string): Authenticate {
  const expected = sha256(token);
  return (authorization) => {
    const given = /^bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
    if (given !== undefined && timingSafeEqual(sha256(given), expected)) return { owner: "token" };
    const detail =
      given === undefined ? "a bearer token is required" : "the bearer token is not valid";
    throw new A2AError("Unauthenticated", detail, { details: { reason: "unauthenticated" } });
  };
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
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
    const detail = `host ${JSON.stringify(given)} is not served here; list it in CONVOKE_ALLOWED_HOSTS (allowedHosts)`;
    throw new A2AError("Forbidden", detail, { details: { reason: "forbidden" } });
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
  if (origin === undefined || SAFE_METHODS.has(request.method)) return;
  // A proxy may have terminated TLS, so the scheme is not compared.
  const host = URL.canParse(origin) ? new URL(origin).host : undefined;
  const isOwn =
    host !== undefined && host !== "" && hosts.some((own) => own?.toLowerCase() === host);
  if (isOwn || isListed(origin)) return;
  const detail = `pages of ${JSON.stringify(origin)} may not call; list it in CONVOKE_CORS_ORIGINS (cors.origins)`;
  throw new A2AError("Forbidden", detail, { details: { reason: "forbidden" } });
}

/**
 * The caller within a tenant. The same caller is a different owner in each tenant,
 * so tasks of one tenant are invisible in another. A server without tenants lists
 * none on its card, so requests must not name one (1.0 §8.3.2).
 */
export function scopedCaller(
  caller: Caller,
  tenant: string | undefined,
  tenants: ReadonlySet<string>,
): Caller {
  const { owner } = caller;
  if (tenant === undefined || tenant === "") {
    return isScoped(owner) ? { ...caller, owner: scopedOwner("", owner) } : caller;
  }
  if (tenants.has(tenant)) return { ...caller, owner: scopedOwner(tenant, owner) };
  throw new A2AError("InvalidParams", `tenant ${JSON.stringify(tenant)} is not served here`, {
    field: "tenant",
  });
}

function scopedOwner(tenant: string, owner: string): string {
  return JSON.stringify([tenant, owner]);
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
