import type { HttpClient } from "@convoke/egress/http";
import type { RawCard } from "@convoke/protocol";
import { OAuthTokens } from "../oauth/oauth-tokens.ts";
import { type OAuthOptions, checkOAuthOptions } from "../oauth/oauth-options.ts";
import { isHeaderValue, isName, isToken } from "./headers.ts";

export interface CreateCredentialsOptions {
  readonly auth?: Auth | undefined;
  /** Short for `auth: { bearer }`. */
  readonly token?: string | undefined;
  /** The URL of the agent. They are bound to its origin, unless `auth.origin` is set. */
  readonly url: string;
  /** Fetches tokens. */
  readonly client: HttpClient;
}

/** Validates the options; errors name an invalid option and never quote its value. */
export function createCredentials(options: CreateCredentialsOptions): Credentials | undefined {
  const auth = mergeToken(options);
  if (auth === undefined) return undefined;
  const given = auth.origin ?? options.url;
  const origins = (typeof given === "string" ? [given] : given).map((origin) =>
    parseOrigin(origin, "auth.origin"),
  );
  if ("bearer" in auth) return bearer(auth.bearer, origins);
  if ("token" in auth) return new TokenCredentials({ origins, token: auth.token });
  if ("apiKey" in auth) return apiKey(auth.apiKey, origins);
  if ("basic" in auth) return basic(auth.basic, origins);
  if ("headers" in auth) return fixedHeaders(auth.headers, origins);
  if ("oauth" in auth) {
    const { url, client } = options;
    return new OAuthCredentials(origins, new OAuthTokens({ options: auth.oauth, url, client }));
  }
  throw new TypeError("auth must have one of bearer, token, apiKey, basic, headers, oauth");
}

function mergeToken({ auth, token }: CreateCredentialsOptions): Auth | undefined {
  if (auth === undefined) return token === undefined ? undefined : { bearer: token };
  if (token === undefined) return auth;
  throw new TypeError("token and auth are both given; leave token out and use auth: { bearer }");
}

function bearer(token: string, origins: readonly string[]): Credentials {
  if (!isToken(token)) throw new TypeError("the token holds characters that no token can have");
  return new FixedCredentials({
    origins,
    headers: { Authorization: `Bearer ${token}` },
    secrets: [token],
  });
}

function basic(
  { user, password }: { readonly user: string; readonly password: string },
  origins: readonly string[],
): Credentials {
  // RFC 7617 §2: the first colon ends the user name.
  if (user.includes(":")) throw new TypeError("auth.basic.user must not hold a colon");
  const bytes = new TextEncoder().encode(`${user}:${password}`);
  const encoded = btoa(String.fromCodePoint(...bytes));
  return new FixedCredentials({
    origins,
    headers: { Authorization: `Basic ${encoded}` },
    secrets: [encoded, password],
  });
}

function apiKey({ in: location, name, value }: ApiKey, origins: readonly string[]): Credentials {
  if (!isName(name)) throw new TypeError(`auth.apiKey.name "${name}" cannot be sent`);
  if (location === "query") {
    return new FixedCredentials({
      origins,
      query: { [name]: value },
      secrets: [value, encodeURIComponent(value)],
    });
  }
  // A comma, a semicolon or a space would end a cookie (RFC 6265 §4.1.1).
  if (!isHeaderValue(value) || (location === "cookie" && /[\s",;\\]/.test(value))) {
    throw new TypeError(`auth.apiKey.value holds characters that no ${location} can have`);
  }
  if (location !== "header" && location !== "cookie") {
    throw new TypeError("auth.apiKey.in must be header, query or cookie");
  }
  const headers = location === "header" ? { [name]: value } : { Cookie: `${name}=${value}` };
  return new FixedCredentials({ origins, headers, secrets: [value] });
}

function fixedHeaders(
  headers: Readonly<Record<string, string>>,
  origins: readonly string[],
): Credentials {
  for (const [name, value] of Object.entries(headers)) {
    if (!isName(name))
      throw new TypeError(`auth.headers has the name "${name}", which cannot be sent`);
    if (!isHeaderValue(value)) {
      throw new TypeError(`auth.headers["${name}"] holds characters that no header can have`);
    }
  }
  return new FixedCredentials({ origins, headers, secrets: Object.values(headers) });
}

interface FixedCredentialsOptions {
  readonly origins: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  /** The secret parts. */
  readonly secrets: readonly string[];
}

/** Credentials that do not change. */
class FixedCredentials implements Credentials {
  readonly #options: FixedCredentialsOptions;

  constructor(options: FixedCredentialsOptions) {
    this.#options = options;
  }

  areFor(url: string): boolean {
    return hasOrigin(this.#options.origins, url);
  }

  async headersFor(url: string): Promise<Readonly<Record<string, string>>> {
    return this.areFor(url) ? (this.#options.headers ?? {}) : {};
  }

  queryFor(url: string): Readonly<Record<string, string>> {
    return this.areFor(url) ? (this.#options.query ?? {}) : {};
  }

  async renew(): Promise<boolean> {
    return false;
  }

  withCard(): this {
    return this;
  }

  secrets(): readonly string[] {
    return this.#options.secrets;
  }
}

interface TokenCredentialsOptions {
  readonly origins: readonly string[];
  readonly token: () => string | Promise<string>;
}

/** A bearer token from a function, which is called again when the agent rejects the token. */
class TokenCredentials implements Credentials {
  readonly #origins: readonly string[];
  readonly #ask: () => string | Promise<string>;
  readonly #known = new Set<string>();
  #token: Promise<string> | undefined;

  constructor({ origins, token }: TokenCredentialsOptions) {
    this.#origins = origins;
    this.#ask = token;
  }

  areFor(url: string): boolean {
    return hasOrigin(this.#origins, url);
  }

  async headersFor(url: string): Promise<Readonly<Record<string, string>>> {
    if (!this.areFor(url)) return {};
    return { Authorization: `Bearer ${await this.#current()}` };
  }

  queryFor(): Readonly<Record<string, string>> {
    return {};
  }

  /**
   * Concurrent calls that fail share one new token: if the token has already changed since the call
   * was sent, there is nothing to renew.
   */
  async renew({ sent }: Challenge): Promise<boolean> {
    const refused = sent["Authorization"];
    const current = this.#token;
    if (current === undefined || `Bearer ${await current}` !== refused) return true;
    if (this.#token === current) this.#token = undefined;
    return `Bearer ${await this.#current()}` !== refused;
  }

  withCard(): this {
    return this;
  }

  secrets(): readonly string[] {
    return [...this.#known];
  }

  #current(): Promise<string> {
    if (this.#token !== undefined) return this.#token;
    const asking = this.#askOnce();
    this.#token = asking;
    // After a failure the next call asks again.
    asking.catch(() => {
      if (this.#token === asking) this.#token = undefined;
    });
    return asking;
  }

  async #askOnce(): Promise<string> {
    const token = await this.#ask();
    if (typeof token !== "string" || !isToken(token)) {
      throw new TypeError(
        "auth.token must return a token; the returned value holds characters that no token can have",
      );
    }
    // Forget old tokens: an agent can only quote a recent one.
    if (this.#known.size >= 4) this.#known.clear();
    this.#known.add(token);
    return token;
  }
}

/** Access tokens that the client gets itself, as the card or a 401 says. */
class OAuthCredentials implements Credentials {
  readonly #origins: readonly string[];
  readonly #tokens: OAuthTokens;

  constructor(origins: readonly string[], tokens: OAuthTokens) {
    this.#origins = origins;
    this.#tokens = tokens;
  }

  areFor(url: string): boolean {
    return hasOrigin(this.#origins, url);
  }

  async headersFor(url: string): Promise<Readonly<Record<string, string>>> {
    const token = this.areFor(url) ? await this.#tokens.current() : undefined;
    return token === undefined ? {} : { Authorization: `Bearer ${token}` };
  }

  queryFor(): Readonly<Record<string, string>> {
    return {};
  }

  renew({ asks, sent }: Challenge): Promise<boolean> {
    return this.#tokens.renew({ asks, token: sent["Authorization"]?.replace("Bearer ", "") });
  }

  withCard(card: RawCard): OAuthCredentials {
    return new OAuthCredentials(this.#origins, this.#tokens.withCard(card));
  }

  secrets(): readonly string[] {
    return this.#tokens.secrets();
  }
}

/** A 401 of an agent. */
interface Challenge {
  /** The `WWW-Authenticate` header; empty if there was none. */
  readonly asks: string;
  /** The credential headers that were rejected. */
  readonly sent: Readonly<Record<string, string>>;
}

/**
 * Credentials for an agent. They are bound to the origins that they were given for: for any other URL
 * they are empty, whatever a card or a redirect says.
 */
export interface Credentials {
  /** Whether there are credentials for the URL. */
  areFor(url: string): boolean;
  /** Headers for a request to the URL; metadata on gRPC. */
  headersFor(url: string): Promise<Readonly<Record<string, string>>>;
  /** Query parameters for a request to the URL. */
  queryFor(url: string): Readonly<Record<string, string>>;
  /** After a 401: renews the credentials if possible, and returns whether another attempt makes sense. */
  renew(challenge: Challenge): Promise<boolean>;
  /** The credentials that the card requires, as far as the user's options let the card decide. */
  withCard(card: RawCard): Credentials;
  /** Values that must not appear in errors. */
  secrets(): readonly string[];
}

/**
 * How to authenticate to an agent. The credentials are bound to the origin of the URL that was given to
 * `connect`, or to `origin`, and are sent nowhere else.
 */
export type Auth = (
  | { readonly bearer: string }
  /** Called once, and again after each 401: for tokens that expire. */
  | { readonly token: () => string | Promise<string> }
  | { readonly apiKey: ApiKey }
  | { readonly basic: { readonly user: string; readonly password: string } }
  /** For any other scheme. */
  | { readonly headers: Readonly<Record<string, string>> }
  /** Tokens that the client gets and renews itself, as the card of the agent says. */
  | { readonly oauth: OAuthOptions }
) & {
  /** The origin, or origins, that the credentials are for instead, such as `https://agent.example`. */
  readonly origin?: string | readonly string[] | undefined;
};

export interface ApiKey {
  readonly in: "header" | "query" | "cookie";
  readonly name: string;
  readonly value: string;
}

let count = 0;

const SOURCES = new WeakMap<object, number>();

/** A cache key that separates callers, so that one never sees documents of another. Kept in memory only. */
export function credentialsKey(auth: Auth | undefined, token: string | undefined): string {
  if (auth === undefined) return token === undefined ? "nobody" : JSON.stringify({ bearer: token });
  if (!("token" in auth) && !("oauth" in auth)) return JSON.stringify(auth);
  const source = "token" in auth ? auth.token : auth.oauth;
  const known = SOURCES.get(source) ?? (count += 1);
  SOURCES.set(source, known);
  return `source ${known} ${JSON.stringify(auth.origin)}`;
}

/**
 * The URLs that the user gave with the credentials: requests may go there, even to private addresses.
 * Errors name an invalid one.
 */
export function givenUrls(auth: Auth | undefined): readonly string[] {
  if (auth === undefined) return [];
  const origins = [auth.origin ?? []].flat().map((origin) => parseOrigin(origin, "auth.origin"));
  if (!("oauth" in auth)) return origins;
  checkOAuthOptions(auth.oauth, "auth.oauth");
  return [...origins, auth.oauth.issuer ?? []].flat();
}

/** Whether the URL has one of the origins. The parser normalizes every spelling of a host. */
export function hasOrigin(origins: readonly string[], url: string): boolean {
  return URL.canParse(url) && origins.includes(new URL(url).origin);
}

/** The origin of an http or https URL; throws an error that names the option. */
function parseOrigin(text: string, option: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "http:" || url?.protocol === "https:") return url.origin;
  throw new TypeError(`${option} must be an origin such as https://agent.example, not "${text}"`);
}

/** Shorter secrets occur in ordinary words. */
const SHORTEST = 6;

/** The text without secrets, for example of a proxy that echoes the request. */
export function redact(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret.length >= SHORTEST)
    .reduce((left, secret) => left.replaceAll(secret, "(redacted)"), text);
}
