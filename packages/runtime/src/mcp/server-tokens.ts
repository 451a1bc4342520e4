import { OAuthTokens, type RejectedToken } from "@convoke/client/oauth";
import { createEgress } from "@convoke/egress";
import { createFetchClient } from "@convoke/egress/http";
import { ClientError } from "@convoke/protocol";
import { McpError } from "./mcp-error.ts";
import type { McpFetch, UrlTarget } from "./mcp-settings.ts";
import { readChallenge } from "./sign-in.ts";

/** The bearer tokens for one server over HTTP, from whichever setting. They outlive its sessions. */
export class ServerTokens {
  readonly #auth: UrlTarget["auth"];
  readonly #oauth: OAuthTokens | undefined;

  /** With a `fetch`, requests to the issuer go through it as well. */
  constructor({ url, auth }: UrlTarget, fetch: McpFetch | undefined) {
    this.#auth = auth;
    if (typeof auth !== "object") return;
    const { issuer } = auth.oauth;
    const trusted = issuer === undefined ? [url.href] : [url.href, issuer];
    const client =
      fetch === undefined
        ? createEgress({ trusted })
        : createFetchClient(fetch as typeof globalThis.fetch);
    this.#oauth = new OAuthTokens({ options: auth.oauth, url: url.href, client });
  }

  /** The token for the next request, if there is one. */
  async current(): Promise<string | undefined> {
    if (typeof this.#auth === "string") return this.#auth;
    if (this.#oauth !== undefined) return this.#obtain("", () => this.#oauth!.current());
    try {
      return typeof this.#auth === "function" ? await this.#auth() : undefined;
    } catch (cause) {
      throw new McpError("unreachable", "its auth function failed", { cause });
    }
  }

  /** Another token after a 401, if there is one. */
  async renewed(rejected: RejectedToken): Promise<string | undefined> {
    const oauth = this.#oauth;
    if (oauth === undefined) return undefined;
    return this.#obtain(rejected.asks, async () =>
      (await oauth.renew(rejected)) ? oauth.current() : undefined,
    );
  }

  async #obtain(
    asks: string,
    work: () => Promise<string | undefined>,
  ): Promise<string | undefined> {
    try {
      return await work();
    } catch (cause) {
      const isSignIn = cause instanceof ClientError && cause.kind === "sign-in";
      // A person cannot help a program whose own credentials are rejected.
      if (isSignIn && !this.#isProgram) throw signInNeeded(asks, cause);
      throw new McpError("unreachable", "there is no token for it", { cause });
    }
  }

  get #isProgram(): boolean {
    return typeof this.#auth === "object" && this.#auth.oauth.clientSecret !== undefined;
  }
}

/** The error for a server that wants a person to sign in. */
export function signInNeeded(asks: string, cause?: unknown): McpError {
  const challenge = readChallenge(asks);
  return new McpError("sign-in", "the user must sign in first", { challenge, cause });
}
