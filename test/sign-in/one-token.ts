import type { StoredToken, TokenStore } from "convoke";

/** Keeps one token, for a test that changes it. */
export class OneToken implements TokenStore {
  token: StoredToken | undefined;

  async get(): Promise<StoredToken | undefined> {
    return this.token;
  }

  async set(_: string, token: StoredToken): Promise<void> {
    this.token = token;
  }

  async delete(): Promise<void> {
    this.token = undefined;
  }
}
