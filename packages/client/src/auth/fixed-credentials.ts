import type { Credentials } from "./credentials.ts";
import { isOriginOf } from "./origins.ts";

export interface FixedCredentialsOptions {
  readonly origins: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  /** The parts of them that are secret. */
  readonly secrets: readonly string[];
}

/** Credentials that stay as they were given. */
export class FixedCredentials implements Credentials {
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
