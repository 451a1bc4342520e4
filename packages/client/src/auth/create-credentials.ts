import type { ApiKey, Auth } from "./auth.ts";
import type { Challenge, Credentials } from "./credentials.ts";
import { isHeaderValue, isName, isToken } from "./header-text.ts";
import { isOriginOf, originOf } from "./origins.ts";

export interface CreateCredentialsOptions {
  readonly auth?: Auth | undefined;
  /** Short for `auth: { bearer }`. */
  readonly token?: string | undefined;
  /** Where they may go unless `auth.origin` says otherwise. */
  readonly origin: string;
}

/** Reads the options; what they say wrongly is told by its name and never quoted. */
export function createCredentials(options: CreateCredentialsOptions): Credentials | undefined {
  const auth = authOf(options);
  if (auth === undefined) return undefined;
  const given = auth.origin ?? options.origin;
  const origins = (typeof given === "string" ? [given] : given).map((origin) =>
    originOf(origin, "auth.origin"),
  );
  if ("bearer" in auth) return bearer(auth.bearer, origins);
  if ("token" in auth) return new TokenCredentials({ origins, token: auth.token });
  if ("apiKey" in auth) return apiKey(auth.apiKey, origins);
  if ("basic" in auth) return basic(auth.basic, origins);
  if ("headers" in auth) return fixedHeaders(auth.headers, origins);
  throw new TypeError("auth must have one of bearer, token, apiKey, basic, headers");
}

function authOf({ auth, token }: CreateCredentialsOptions): Auth | undefined {
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
  // RFC 7617 §2: the first colon ends the name.
  if (user.includes(":")) throw new TypeError("auth.basic.user must not hold a colon");
  const bytes = new TextEncoder().encode(`${user}:${password}`);
  const encoded = btoa(String.fromCodePoint(...bytes));
  return new FixedCredentials({
    origins,
    headers: { Authorization: `Basic ${encoded}` },
    secrets: [encoded, password],
  });
}

function apiKey({ in: place, name, value }: ApiKey, origins: readonly string[]): Credentials {
  if (!isName(name)) throw new TypeError(`auth.apiKey.name "${name}" cannot be sent`);
  if (place === "query") {
    return new FixedCredentials({
      origins,
      query: { [name]: value },
      secrets: [value, encodeURIComponent(value)],
    });
  }
  // A comma, a semicolon or a blank would end a cookie (RFC 6265 §4.1.1).
  if (!isHeaderValue(value) || (place === "cookie" && /[\s",;\\]/.test(value))) {
    throw new TypeError(`auth.apiKey.value holds characters that no ${place} can have`);
  }
  if (place !== "header" && place !== "cookie") {
    throw new TypeError("auth.apiKey.in must be header, query or cookie");
  }
  const headers = place === "header" ? { [name]: value } : { Cookie: `${name}=${value}` };
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
  /** The parts of them that are secret. */
  readonly secrets: readonly string[];
}

/** Credentials that stay as they were given. */
class FixedCredentials implements Credentials {
  readonly #options: FixedCredentialsOptions;

  constructor(options: FixedCredentialsOptions) {
    this.#options = options;
  }

  areFor(url: string): boolean {
    return isOriginOf(this.#options.origins, url);
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

  secrets(): readonly string[] {
    return this.#options.secrets;
  }
}

interface TokenCredentialsOptions {
  readonly origins: readonly string[];
  readonly token: () => string | Promise<string>;
}

/** A bearer token that a function gives: asked once, and again when an agent no longer takes it. */
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
    return isOriginOf(this.#origins, url);
  }

  async headersFor(url: string): Promise<Readonly<Record<string, string>>> {
    if (!this.areFor(url)) return {};
    return { Authorization: `Bearer ${await this.#current()}` };
  }

  queryFor(): Readonly<Record<string, string>> {
    return {};
  }

  /**
   * Calls that fail together share one new token: whoever comes when the token
   * is not the one any more that it sent has nothing to ask for.
   */
  async renew({ sent }: Challenge): Promise<boolean> {
    const refused = sent["Authorization"];
    const current = this.#token;
    if (current === undefined || `Bearer ${await current}` !== refused) return true;
    if (this.#token === current) this.#token = undefined;
    return `Bearer ${await this.#current()}` !== refused;
  }

  secrets(): readonly string[] {
    return [...this.#known];
  }

  #current(): Promise<string> {
    if (this.#token !== undefined) return this.#token;
    const asking = this.#askOnce();
    this.#token = asking;
    // A function that failed is asked again by the next call.
    asking.catch(() => {
      if (this.#token === asking) this.#token = undefined;
    });
    return asking;
  }

  async #askOnce(): Promise<string> {
    const token = await this.#ask();
    if (typeof token !== "string" || !isToken(token)) {
      throw new TypeError(
        "auth.token must give a token; what it gave holds characters that no token can have",
      );
    }
    // Old ones are forgotten: an agent quotes what it was just sent.
    if (this.#known.size >= 4) this.#known.clear();
    this.#known.add(token);
    return token;
  }
}
