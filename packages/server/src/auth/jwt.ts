import type { Caller, Metadata, SecurityScheme } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import type { JSONWebKeySet, JWTPayload } from "jose";
import { type Authenticator, bearerToken, unauthenticated } from "./authenticator.ts";
import type { TokenVerifier } from "./token-verifier.ts";

/** Which tokens `jwt` and `oidc` accept, and who their callers are. */
export interface JwtOptions {
  /** The `iss` of the tokens: the URL of the issuer, exactly as in the tokens. */
  readonly issuer: string;
  /** The `aud` of the tokens, or several of which one is enough. Without it, a token for another service would be accepted. */
  readonly audience: string | readonly string[];
  /**
   * Where the keys of the issuer are. Default: as its OpenID configuration says
   * (`<issuer>/.well-known/openid-configuration`). They are fetched when the first token arrives and
   * kept for 10 minutes; a token with an unknown key fetches them again, at most every 30 seconds.
   */
  readonly jwksUri?: string;
  /** The public keys of the issuer, instead of fetching them. */
  readonly keys?: JSONWebKeySet;
  /** A secret of at least 32 bytes that the issuer shares, for HS256, HS384 and HS512. Prefer public keys: who can check such tokens can make them. */
  readonly secret?: Uint8Array;
  /**
   * The accepted algorithms. Default: all asymmetric ones; with `secret`, HS256. Public keys and
   * HMAC are never accepted together, because a public key could then be used as a secret.
   */
  readonly algorithms?: readonly string[];
  /** How far the clock of the issuer may be off, in seconds. Default 30. */
  readonly clockSkewSeconds?: number;
  /** The claim that names the owner of the tasks. Default: the issuer and `sub`, as in "https://id.example#alice". */
  readonly ownerClaim?: string;
  /** The claim with the tenant of the caller. Tokens without it are rejected. Default: callers have no tenant. */
  readonly tenantClaim?: string;
  /**
   * The claims that agents get as `turn.caller.claims`; they are stored with the tasks. Default: all
   * except for `iss`, `aud`, `exp`, `nbf`, `iat` and `jti`.
   */
  readonly claims?: readonly string[];
  /** How many verified tokens are remembered, so that they are not verified again. Default 10,000. */
  readonly cacheSize?: number;
}

/**
 * Accepts JSON Web Tokens of one issuer as bearer tokens. The owner is the issuer and the subject,
 * the scopes are those of `scope` or `scp`.
 *
 * @example
 * serve(agent, { auth: [jwt({ issuer: "https://id.example", audience: "https://agent.example" })] });
 */
export function jwt(options: JwtOptions): Authenticator {
  return authenticatorFor("jwt", options, { jwt: JWT_SCHEME });
}

/**
 * Like `jwt`, and the card names the OpenID configuration of the issuer, so that clients know where
 * to get a token.
 */
export function oidc(options: JwtOptions): Authenticator {
  const openIdConnectUrl = configurationUrl(options.issuer);
  return authenticatorFor("oidc", options, {
    oidc: { type: "openIdConnect", openIdConnectUrl },
    jwt: JWT_SCHEME,
  });
}

const JWT_SCHEME: SecurityScheme = { type: "http", scheme: "bearer", bearerFormat: "JWT" };

/** Three parts in base64url. A token of another form is not ours to judge. */
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/** A cached token is verified again after this time, so that a key that the issuer withdrew does not stay valid. */
const MAX_CACHED_MS = 10 * 60_000;

function authenticatorFor(
  name: string,
  options: JwtOptions,
  schemes: Authenticator["schemes"],
): Authenticator {
  checkOptions(name, options);
  const { issuer, audience, secret, clockSkewSeconds = 30, cacheSize = 10_000 } = options;
  const algorithms = [...(options.algorithms ?? (secret === undefined ? ASYMMETRIC : ["HS256"]))];
  const verification = {
    issuer,
    audience: typeof audience === "string" ? audience : [...audience],
    algorithms,
    clockTolerance: clockSkewSeconds,
    requiredClaims: ["exp", "sub"],
  };
  let verifier: Promise<TokenVerifier> | undefined;
  const cache = new CallerCache(cacheSize);

  async function verify(token: string): Promise<Caller> {
    const source = { ...options, configurationUrl: configurationUrl(issuer) };
    verifier ??= createVerifier(source, verification);
    const payload = await (await verifier).verify(token);
    const caller = callerFor(payload, options);
    const expiresAt = (payload.exp! + clockSkewSeconds) * 1000;
    cache.add(token, caller, Math.min(expiresAt, Date.now() + MAX_CACHED_MS));
    return caller;
  }

  return {
    schemes,
    authorizationServers: [issuer],
    authenticate(request) {
      const token = bearerToken(request);
      if (token === undefined) return undefined;
      const known = cache.get(token);
      if (known !== undefined) return known;
      // The keys are not fetched for a token of another issuer.
      return COMPACT.test(token) && issuerOf(token) === issuer ? verify(token) : undefined;
    },
    close: () => void verifier?.then((created) => created.close()),
  };
}

/** Loaded with the first token, because its library is slow to load. */
async function createVerifier(
  ...given: ConstructorParameters<typeof TokenVerifier>
): Promise<TokenVerifier> {
  const { TokenVerifier: Verifier } = await import("./token-verifier.ts");
  return new Verifier(...given);
}

const ASYMMETRIC = [
  "ES256",
  "ES384",
  "ES512",
  "PS256",
  "PS384",
  "PS512",
  "RS256",
  "RS384",
  "RS512",
  "EdDSA",
  "Ed25519",
];

const SYMMETRIC = ["HS256", "HS384", "HS512"];

/** The shortest secret that is as strong as HS256 (RFC 7518 §3.2). */
const MIN_SECRET_BYTES = 32;

function checkOptions(name: string, options: JwtOptions): void {
  const { issuer, audience, jwksUri, keys, secret, algorithms = [] } = options;
  if (!URL.canParse(issuer) || !/^https?:$/.test(new URL(issuer).protocol)) {
    throw new TypeError(
      `${name}: issuer must be the URL of the issuer, not ${JSON.stringify(issuer)}`,
    );
  }
  if (audience === undefined || [audience].flat().length === 0 || [audience].flat().includes("")) {
    throw new TypeError(
      `${name}: audience must name what the tokens are for, such as the URL of the agent`,
    );
  }
  if ([jwksUri, keys, secret].filter((one) => one !== undefined).length > 1) {
    throw new TypeError(`${name}: give one of jwksUri, keys and secret`);
  }
  if (secret !== undefined && secret.length < MIN_SECRET_BYTES) {
    throw new TypeError(`${name}: secret must have at least ${MIN_SECRET_BYTES} bytes`);
  }
  const possible = secret === undefined ? ASYMMETRIC : SYMMETRIC;
  const wrong = algorithms.find((algorithm) => !possible.includes(algorithm));
  if (wrong === undefined) return;
  const kind = secret === undefined ? "public keys" : "a secret";
  throw new TypeError(`${name}: algorithms with ${kind} are ${possible.join(", ")}, not ${wrong}`);
}

/** The issuer that an unverified token names. */
function issuerOf(token: string): unknown {
  try {
    const payload: unknown = JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString());
    return isObject(payload) ? payload["iss"] : undefined;
  } catch {
    return undefined;
  }
}

const TOKEN_CLAIMS: ReadonlySet<string> = new Set(["iss", "aud", "exp", "nbf", "iat", "jti"]);

function callerFor(payload: JWTPayload, options: JwtOptions): Caller {
  const { ownerClaim, tenantClaim, claims: kept } = options;
  const subject = textClaim(payload, "sub");
  const owner =
    ownerClaim === undefined ? `${options.issuer}#${subject}` : textClaim(payload, ownerClaim);
  const entries = Object.entries(payload).filter(([name]) =>
    kept === undefined ? !TOKEN_CLAIMS.has(name) : kept.includes(name),
  );
  return {
    owner,
    ...(tenantClaim !== undefined && { tenant: textClaim(payload, tenantClaim) }),
    scopes: scopesIn(payload),
    claims: Object.fromEntries(entries) as Metadata,
  };
}

function textClaim(payload: JWTPayload, name: string): string {
  const value = payload[name];
  if (typeof value === "string" && value !== "") return value;
  throw unauthenticated(`the token has no claim ${name}`);
}

/** `scope` is a text with blanks (RFC 9068); some issuers write `scp`, which may be a list. */
function scopesIn({ scope, scp }: JWTPayload): readonly string[] {
  const given = scope ?? scp;
  if (Array.isArray(given)) return given.filter((one) => typeof one === "string");
  return typeof given === "string" ? given.split(" ").filter((one) => one !== "") : [];
}

/** The callers of verified tokens, by token. */
class CallerCache {
  readonly #callers = new Map<string, { readonly caller: Caller; readonly until: number }>();
  readonly #size: number;

  constructor(size: number) {
    this.#size = size;
  }

  get(token: string): Caller | undefined {
    const found = this.#callers.get(token);
    if (found === undefined || found.until > Date.now()) return found?.caller;
    this.#callers.delete(token);
    return undefined;
  }

  /** The oldest token makes room for a new one. */
  add(token: string, caller: Caller, until: number): void {
    const oldest = this.#callers.keys().next();
    if (this.#callers.size >= this.#size && oldest.done !== true) {
      this.#callers.delete(oldest.value);
    }
    if (this.#size > 0) this.#callers.set(token, { caller, until });
  }
}

function configurationUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
}
