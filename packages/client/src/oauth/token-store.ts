/** Tokens for one resource, and what is needed to renew them. All of it is secret. */
export interface StoredToken {
  readonly issuer: string;
  readonly clientId: string;
  /** Of a client that registered itself and received a secret. */
  readonly clientSecret?: string | undefined;
  readonly accessToken: string;
  readonly refreshToken?: string | undefined;
  /** When to get a new access token, in milliseconds since 1970. Absent: when it is rejected. */
  readonly renewAt?: number | undefined;
}

/** Keeps tokens. The key says what they are for; it contains no secret. */
export interface TokenStore {
  get(key: string): Promise<StoredToken | undefined>;
  set(key: string, token: StoredToken): Promise<void>;
  delete(key: string): Promise<void>;
  /**
   * Runs the work while no other process runs work for this store. Needed if processes share it:
   * many issuers accept a refresh token only once, and end the sign-in if it is used twice.
   */
  exclusive?<T>(work: () => Promise<T>): Promise<T>;
}

/** Keeps tokens in memory. */
export class MemoryTokenStore implements TokenStore {
  readonly #tokens = new Map<string, StoredToken>();

  async get(key: string): Promise<StoredToken | undefined> {
    return this.#tokens.get(key);
  }

  async set(key: string, token: StoredToken): Promise<void> {
    this.#tokens.set(key, token);
  }

  async delete(key: string): Promise<void> {
    this.#tokens.delete(key);
  }
}

export interface TokenPurpose {
  readonly issuer: string;
  /** Absent for a client that registers itself. */
  readonly clientId: string | undefined;
  readonly resource: string | undefined;
  readonly scopes: readonly string[];
}

/** The key of tokens in a store: a token is never used for another issuer, client, resource or scope. */
export function tokenKey({ issuer, clientId, resource, scopes }: TokenPurpose): string {
  return JSON.stringify([issuer, clientId ?? "", resource ?? "", scopes.toSorted().join(" ")]);
}
