import type { Challenge, Credentials } from "./credentials.ts";
import { isToken } from "./header-text.ts";
import { isOriginOf } from "./origins.ts";

export interface TokenCredentialsOptions {
  readonly origins: readonly string[];
  readonly token: () => string | Promise<string>;
}

/** A bearer token that a function gives: asked once, and again when an agent no longer takes it. */
export class TokenCredentials implements Credentials {
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
