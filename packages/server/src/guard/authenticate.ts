import {
  A2AError,
  BEARER_SECURITY,
  type Caller,
  type CardSecurity,
  type SecurityRequirement,
  type SecurityScheme,
} from "@convoke/protocol";
import type { Logger } from "@convoke/engine";
import { isDeepStrictEqual } from "node:util";
import {
  type AuthEnvironment,
  type AuthRequest,
  AuthUnavailable,
  type Authenticate,
  type Authenticator,
  bearer,
  unauthenticated,
  unnamed,
} from "../auth/authenticator.ts";
import { type HttpRequest, header } from "../http/exchange.ts";

/** How the callers of a server authenticate. */
export interface AuthOptions {
  /**
   * The ways in which callers may authenticate, of which one is enough: `bearer`, `apiKeys`, `jwt`,
   * `oidc`, `mtls`, or an `Authenticator` of your own. Required for every request except for the
   * card. Each owner sees only its own tasks. Default: every caller is accepted, and all callers
   * share their tasks.
   *
   * @example
   * auth: [apiKeys(), oidc({ issuer: "https://id.example", audience: "https://agent.example" })]
   */
  readonly auth?: readonly Authenticator[];
  /** Requires this bearer token. The same as `auth: [bearer(token)]`; with `auth`, one more way. */
  readonly token?: string;
  /**
   * Identifies the caller of every request except for the card. Use it instead of `auth` and `token`
   * if neither fits. Agents get the result as `turn.caller`.
   *
   * @example
   * authenticate: async ({ headers }) => {
   *   const user = await findUser(headers.authorization);
   *   return user && { owner: user.id, scopes: user.scopes };
   * }
   */
  readonly authenticate?: Authenticate;
  /**
   * What `authenticate` accepts, by name, as the card declares it. Default: a bearer token in the
   * `Authorization` header.
   */
  readonly securitySchemes?: Readonly<Record<string, SecurityScheme>>;
  /**
   * Which of the schemes a caller has to use: one entry is enough, and all schemes of an entry are
   * required together. Default: any one of `securitySchemes`.
   */
  readonly security?: readonly SecurityRequirement[];
}

/** Where RFC 9728 describes the server to OAuth clients, below the address of the agent. */
export const RESOURCE_PATH = "/.well-known/oauth-protected-resource";

/** Identifies the callers of a server, and knows what its card and its 401 responses say about it. */
export class Authentication {
  /** Absent if every caller is accepted. */
  readonly security: CardSecurity | undefined;
  /** The issuers from which clients can get a token (RFC 9728). */
  readonly authorizationServers: readonly string[];
  /** Whether client certificates are accepted. */
  readonly needsCertificates: boolean;
  /** First those whose credentials are in the request itself. */
  readonly #authenticators: readonly Authenticator[];
  readonly #challenge: string;
  #logger: Logger | undefined;

  constructor(options: AuthOptions) {
    const authenticators = authenticatorsIn(options);
    const isOpen = authenticators.length === 0;
    this.#authenticators = [
      ...authenticators.filter(({ isOfConnection }) => isOfConnection !== true),
      ...authenticators.filter(({ isOfConnection }) => isOfConnection === true),
    ];
    this.needsCertificates = authenticators.some(({ schemes }) =>
      Object.values(schemes).some(({ type }) => type === "mutualTLS"),
    );
    this.security = isOpen ? undefined : declared(authenticators);
    this.authorizationServers = [
      ...new Set(authenticators.flatMap(({ authorizationServers = [] }) => authorizationServers)),
    ];
    this.#challenge = challengeFor(this.security);
  }

  async prepare(environment: AuthEnvironment): Promise<void> {
    this.#logger = environment.logger;
    for (const one of this.#authenticators) await one.prepare?.(environment);
  }

  close(): void {
    for (const one of this.#authenticators) one.close?.();
  }

  /** The caller of a request. A promise only if callers are authenticated. */
  identify(request: AuthRequest): Caller | Promise<Caller> {
    return this.security === undefined ? ANONYMOUS : this.#authenticate(request, this.security);
  }

  async #authenticate(request: AuthRequest, security: CardSecurity): Promise<Caller> {
    let problem: A2AError | undefined;
    for (const one of this.#authenticators) {
      // A certificate does not help a request whose own credentials are not valid.
      if (one.isOfConnection === true && problem !== undefined) throw problem;
      try {
        const caller = await one.authenticate(request);
        if (caller !== undefined) return checked(caller);
      } catch (thrown) {
        problem ??= this.#toProblem(thrown);
      }
    }
    throw problem ?? missingCredentials(request, security);
  }

  /**
   * The `WWW-Authenticate` header of a 401 response.
   *
   * @param address where the agent is, if it is known
   */
  challengeAt(address: string | undefined): string {
    return this.#withMetadata(this.#challenge, address);
  }

  /**
   * The `WWW-Authenticate` header of a 403 response to a token that lacks scopes (RFC 6750 §3.1).
   *
   * @param scopes those that the request needs, separated by spaces
   */
  scopeChallengeAt(address: string | undefined, scopes: string): string {
    // A configured scope may have characters that neither OAuth nor a header allows (RFC 6749 §3.3).
    const sent = scopes.replaceAll(/[^ !#-[\]-~]/g, "");
    const challenge = `Bearer realm="convoke", error="insufficient_scope", scope="${sent}"`;
    return this.#withMetadata(challenge, address);
  }

  #withMetadata(challenge: string, address: string | undefined): string {
    if (address === undefined || this.authorizationServers.length === 0) return challenge;
    const metadata = `resource_metadata="${address}${RESOURCE_PATH}"`;
    return challenge.replace(/^Bearer |(?<=, )Bearer /, `Bearer ${metadata}, `);
  }

  /** An error other than that of the credentials ends the search: it may be that of the right one. */
  #toProblem(thrown: unknown): A2AError {
    if (A2AError.is(thrown) && thrown.reason === "Unauthenticated") return thrown;
    if (!(thrown instanceof AuthUnavailable)) throw thrown;
    this.#logger?.error("callers cannot be authenticated", { error: thrown });
    throw new A2AError("Unavailable", "credentials cannot be checked now, try again later", {
      cause: thrown,
    });
  }
}

/** Without authentication, all callers are the same owner. */
const ANONYMOUS = unnamed({ owner: "anonymous" });

function authenticatorsIn(options: AuthOptions): readonly Authenticator[] {
  const { auth, token, authenticate, securitySchemes, security } = options;
  if (authenticate === undefined && (securitySchemes ?? security) !== undefined) {
    throw new TypeError(
      "securitySchemes and security need authenticate: the card must not declare what is not checked",
    );
  }
  if (auth?.length === 0) {
    throw new TypeError("auth must have an entry; leave it out if every caller is accepted");
  }
  if (authenticate === undefined) {
    return [...(auth ?? []), ...(token === undefined ? [] : [bearer(token)])];
  }
  const other = token === undefined ? auth && "auth" : "token";
  if (other !== undefined) {
    throw new TypeError(`${other} and authenticate cannot be combined: both identify the caller`);
  }
  const { schemes } = BEARER_SECURITY;
  return [{ schemes: securitySchemes ?? schemes, authenticate, ...(security && { security }) }];
}

/** A text in `scopes` would have every scope that it contains. */
function checked(caller: Caller): Caller {
  const { owner, scopes = [] } = caller;
  if (typeof owner !== "string" || owner === "") {
    throw new TypeError("authenticate must return a caller with an owner, which is not empty");
  }
  if (Array.isArray(scopes) && scopes.every((scope) => typeof scope === "string")) return caller;
  throw new TypeError(
    "authenticate must return a caller whose scopes are a list of texts, such as scope.split(' ')",
  );
}

/** No authenticator has found credentials of its own. */
function missingCredentials(request: AuthRequest, { schemes }: CardSecurity): A2AError {
  const takesBearer = Object.values(schemes).some(isBearer);
  if (!takesBearer) return unauthenticated("it is not known who calls");
  const given = header(request, "authorization");
  const isGiven = given !== undefined && /^bearer +\S/i.test(given);
  return unauthenticated(isGiven ? "the bearer token is not valid" : "a bearer token is required");
}

function isBearer(scheme: SecurityScheme): boolean {
  return scheme.type === "http" && scheme.scheme.toLowerCase() === "bearer";
}

/** What the card declares: the schemes of all authenticators, as alternatives. */
function declared(authenticators: readonly Authenticator[]): CardSecurity {
  const all: Record<string, SecurityScheme> = {};
  const requirements: SecurityRequirement[] = [];
  for (const { schemes, security } of authenticators) {
    const names = addSchemes(all, schemes);
    const own = security ?? Object.keys(schemes).map((name) => ({ [name]: [] }));
    checkNames(own, schemes);
    for (const requirement of own) {
      const renamed = Object.entries(requirement).map(([name, scopes]) => [names[name], scopes]);
      const next = Object.fromEntries(renamed) as SecurityRequirement;
      if (!requirements.some((one) => isDeepStrictEqual(one, next))) requirements.push(next);
    }
  }
  return { schemes: all, requirements };
}

/** Adds schemes to others, and returns their names there: a name that means something else gets a number. */
function addSchemes(
  all: Record<string, SecurityScheme>,
  schemes: Authenticator["schemes"],
): Readonly<Record<string, string>> {
  const names: Record<string, string> = {};
  for (const [name, scheme] of Object.entries(schemes)) {
    let free = name;
    const isTaken = (): boolean =>
      Object.hasOwn(all, free) && !isDeepStrictEqual(all[free], scheme);
    for (let count = 2; isTaken(); count++) free = `${name}${count}`;
    all[free] = scheme;
    names[name] = free;
  }
  return names;
}

function checkNames(
  requirements: readonly SecurityRequirement[],
  schemes: Authenticator["schemes"],
): void {
  const unknown = requirements.flatMap(Object.keys).find((name) => !Object.hasOwn(schemes, name));
  if (unknown === undefined) return;
  throw new TypeError(
    `security names ${JSON.stringify(unknown)}, which is not one of securitySchemes (${Object.keys(schemes).join(", ")})`,
  );
}

/** One challenge per kind of credential that is sent as `Authorization`; a 401 must have one (RFC 9110 §15.5.2). */
/** A 401 must name a scheme (RFC 9110 §15.5.2), and a key in a cookie or a header has no registered one. */
function unregisteredChallenge(scheme: SecurityScheme): string {
  if (scheme.type !== "apiKey") return 'MutualTLS realm="convoke"';
  const name = scheme.name.replaceAll(/[^ !#-[\]-~]/g, "");
  return `ApiKey realm="convoke", in="${scheme.in}", name="${name}"`;
}

function challengeFor({ schemes } = BEARER_SECURITY): string {
  const kinds = Object.values(schemes).flatMap((scheme) => {
    if (scheme.type === "http") return [scheme.scheme];
    return scheme.type === "oauth2" || scheme.type === "openIdConnect" ? ["bearer"] : [];
  });
  const words = kinds.map((kind) => kind.charAt(0).toUpperCase() + kind.slice(1).toLowerCase());
  const all = [...new Set(words)].map((kind) => `${kind} realm="convoke"`);
  return (all.length > 0 ? all : Object.values(schemes).map(unregisteredChallenge)).join(", ");
}

/** Where the agent is, as the client reaches it. */
export type AddressFor = (request: HttpRequest) => string;
