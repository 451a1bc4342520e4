import type { HttpClient } from "@convoke/egress/http";
import type { RawCard } from "@convoke/protocol";
import type { AuthorizationServer, TokenEndpointResponse } from "oauth4webapi";
import type { ClientIdentity, GrantContext } from "./grants.ts";
import { OAuthHttp, signInError } from "./oauth-http.ts";
import { type OAuthOptions, type SignIn, checkOAuthOptions } from "./oauth-options.ts";
import {
  type TokenSource,
  challengeFields,
  sourceFromCard,
  sourceFromChallenge,
  sourceFromOptions,
} from "./token-source.ts";
import { MemoryTokenStore, type StoredToken, type TokenStore, tokenKey } from "./token-store.ts";

export interface OAuthTokensOptions {
  readonly options: OAuthOptions;
  /** The URL of the agent or MCP server that the user gave. */
  readonly url: string;
  readonly client: HttpClient;
  /** The card of the agent, if it is known. */
  readonly card?: RawCard | undefined;
  /** Where tokens come from, for a server without a card. */
  readonly source?: TokenSource | undefined;
}

export interface RejectedToken {
  /** The `WWW-Authenticate` header of the 401; empty if there was none. */
  readonly asks: string;
  /** The token that was rejected, if one was sent. */
  readonly token: string | undefined;
}

/** The access tokens for one agent or MCP server: kept, renewed before they expire, and after a 401. */
export class OAuthTokens {
  readonly #given: OAuthTokensOptions;
  readonly #http: OAuthHttp;
  readonly #store: TokenStore;
  readonly #secrets = new Set<string>();
  /** Where tokens come from, once the card or a 401 said so. */
  #source: TokenSource | undefined;

  constructor(given: OAuthTokensOptions) {
    const { options, url, client, card, source } = given;
    checkOAuthOptions(options, "auth.oauth");
    this.#given = given;
    this.#store = options.store ?? new MemoryTokenStore();
    const { issuer } = options;
    this.#http = new OAuthHttp({ client, given: issuer === undefined ? [url] : [url, issuer] });
    this.#source = (card && sourceFromCard(card, given)) ?? source;
  }

  /** The tokens as the card requires them. Rejects a card that names another issuer than the user. */
  withCard(card: RawCard): OAuthTokens {
    const { options } = this.#given;
    return new OAuthTokens({
      ...this.#given,
      options: { ...options, store: this.#store },
      source: this.#source,
      card,
    });
  }

  /** A valid access token; `undefined` as long as it is not known where to get one. */
  async current(): Promise<string | undefined> {
    return this.#source && (await this.#obtain(this.#source, undefined)).accessToken;
  }

  /** After a 401: gets another token if possible, and returns whether there is one. */
  async renew({ asks, token }: RejectedToken): Promise<boolean> {
    if (this.#source === undefined || challengeFields(asks).has("resource_metadata")) {
      this.#source = await this.#learn(asks);
    }
    if (this.#source === undefined) return false;
    const renewed = await this.#obtain(this.#source, token);
    return renewed.accessToken !== token;
  }

  /** Signs in anew, even if there is a token. Returns where, or `undefined` if OAuth is not offered. */
  async signIn(asks = ""): Promise<TokenSource | undefined> {
    this.#source ??= await this.#learn(asks);
    if (this.#source === undefined) return undefined;
    await this.#keep(this.#source, await this.#grant(this.#source));
    return this.#source;
  }

  /** Values that must not appear in errors. */
  secrets(): readonly string[] {
    const { clientSecret } = this.#given.options;
    return [...this.#secrets, ...(clientSecret === undefined ? [] : [clientSecret])];
  }

  async #learn(asks: string): Promise<TokenSource | undefined> {
    const learned = await sourceFromChallenge(asks, this.#http, this.#given);
    return learned ?? this.#source ?? sourceFromOptions(this.#given);
  }

  #keyFor({ issuer, resource, scopes }: TokenSource): string {
    return tokenKey({ issuer, clientId: this.#given.options.clientId, resource, scopes });
  }

  /** Concurrent callers of one store wait for the same token. */
  async #obtain(source: TokenSource, rejected: string | undefined): Promise<StoredToken> {
    const key = this.#keyFor(source);
    const kept = await this.#store.get(key);
    if (kept !== undefined && isUsable(kept, rejected)) return this.#remember(kept);
    const running = runningIn(this.#store);
    const work =
      running.get(key) ?? this.#renewAlone(source, rejected).finally(() => running.delete(key));
    running.set(key, work);
    return this.#remember(await work);
  }

  async #renewAlone(source: TokenSource, rejected: string | undefined): Promise<StoredToken> {
    const renew = () => this.#renew(source, rejected);
    return this.#store.exclusive === undefined ? renew() : this.#store.exclusive(renew);
  }

  async #renew(source: TokenSource, rejected: string | undefined): Promise<StoredToken> {
    const key = this.#keyFor(source);
    // Another process may have renewed it in the meantime.
    const kept = await this.#store.get(key);
    if (kept !== undefined && isUsable(kept, rejected)) return kept;
    const refreshed = kept?.refreshToken && (await this.#refresh(source, kept, kept.refreshToken));
    if (refreshed) return refreshed;
    return this.#keep(source, await this.#grant(source));
  }

  /** `undefined` if the issuer does not accept the refresh token any more. */
  async #refresh(
    source: TokenSource,
    kept: StoredToken,
    refreshToken: string,
  ): Promise<StoredToken | undefined> {
    const { explainOAuthError, grantRefresh, issuerError } = await loadIssuer();
    const context = await this.#context(source);
    const { clientSecret = this.#given.options.clientSecret, clientId: id } = kept;
    try {
      const identity = { id, secret: clientSecret };
      const answer = await grantRefresh(context, identity, refreshToken);
      return await this.#keep(source, {
        ...toToken(answer, kept),
        refreshToken: answer.refresh_token ?? refreshToken,
      });
    } catch (error) {
      if (issuerError(error) !== "invalid_grant") throw explainOAuthError(error, source.issuer);
      await this.#store.delete(this.#keyFor(source));
      return undefined;
    }
  }

  /** A new token, from a person or with the secret of the program. */
  async #grant(source: TokenSource): Promise<StoredToken> {
    const { issuer } = source;
    const { clientId, clientSecret, signIn } = this.#given.options;
    const missing = signInError(
      `${new URL(this.#given.url).origin} requires a sign-in at ${issuer}`,
    );
    if (signIn === undefined && clientSecret === undefined) throw missing;
    const { explainOAuthError, grantClientCredentials } = await loadIssuer();
    try {
      const context = await this.#context(source);
      if (signIn !== undefined && hasSignInPage(context.server)) {
        return await this.#grantToPerson(context, signIn);
      }
      if (clientId === undefined || clientSecret === undefined) throw missing;
      const answer = await grantClientCredentials(context, { id: clientId, secret: clientSecret });
      return toToken(answer, { issuer, clientId });
    } catch (error) {
      throw explainOAuthError(error, issuer);
    }
  }

  async #grantToPerson(context: GrantContext, signIn: SignIn): Promise<StoredToken> {
    const { grantInBrowser, grantOnDevice, registerClient } = await loadIssuer();
    const { server } = context;
    const { clientId, clientSecret } = this.#given.options;
    const hasPage = server.authorization_endpoint !== undefined;
    const redirect = hasPage ? await signIn.openRedirect?.() : undefined;
    try {
      if (redirect === undefined && server.device_authorization_endpoint === undefined) {
        throw signInError(`${server.issuer} supports signing in with a browser only`);
      }
      const identity: ClientIdentity =
        clientId === undefined
          ? await registerClient(context, redirect)
          : { id: clientId, secret: clientSecret };
      const answer =
        redirect === undefined
          ? await grantOnDevice(context, identity, signIn)
          : await grantInBrowser(context, identity, { redirect, signIn });
      return toToken(answer, {
        issuer: server.issuer,
        clientId: identity.id,
        // A configured secret is not stored: it comes from the options each time.
        ...(clientId === undefined && { clientSecret: identity.secret }),
      });
    } finally {
      redirect?.close();
    }
  }

  async #context(source: TokenSource): Promise<GrantContext> {
    const { findAuthorizationServer } = await loadIssuer();
    const isGiven = this.#given.options.issuer !== undefined;
    const server = await findAuthorizationServer(source, this.#http, isGiven);
    return { server, http: this.#http, scopes: source.scopes, resource: source.resource };
  }

  async #keep(source: TokenSource, token: StoredToken): Promise<StoredToken> {
    await this.#store.set(this.#keyFor(source), token);
    return token;
  }

  #remember(token: StoredToken): StoredToken {
    // Forget old tokens: an agent can only quote a recent one.
    if (this.#secrets.size >= 4) this.#secrets.clear();
    this.#secrets.add(token.accessToken);
    return token;
  }
}

/** Loaded when the first token is requested: a page that never does need not fetch it. */
const loadIssuer = () => import("./issuer.ts");

const RUNNING = new WeakMap<TokenStore, Map<string, Promise<StoredToken>>>();

function runningIn(store: TokenStore): Map<string, Promise<StoredToken>> {
  const running = RUNNING.get(store) ?? new Map<string, Promise<StoredToken>>();
  RUNNING.set(store, running);
  return running;
}

function isUsable({ accessToken, renewAt }: StoredToken, rejected: string | undefined): boolean {
  return accessToken !== rejected && (renewAt === undefined || Date.now() < renewAt);
}

function hasSignInPage(server: AuthorizationServer): boolean {
  return (server.authorization_endpoint ?? server.device_authorization_endpoint) !== undefined;
}

/** Clocks differ and requests take time, so a token is renewed before it expires. */
const SKEW_MS = 30_000;

function toToken(
  answer: TokenEndpointResponse,
  { issuer, clientId, clientSecret }: Pick<StoredToken, "issuer" | "clientId" | "clientSecret">,
): StoredToken {
  const { access_token: accessToken, token_type: type, refresh_token: refreshToken } = answer;
  if (type !== "bearer" || !/^[\w.~+/-]+=*$/.test(accessToken)) {
    throw signInError(`${issuer} issued a token that is not a bearer token`);
  }
  const lifetimeMs = answer.expires_in === undefined ? undefined : answer.expires_in * 1000;
  return {
    issuer,
    clientId,
    ...(clientSecret !== undefined && { clientSecret }),
    accessToken,
    ...(refreshToken !== undefined && { refreshToken }),
    ...(lifetimeMs !== undefined && {
      renewAt: Date.now() + lifetimeMs - Math.min(SKEW_MS, lifetimeMs / 4),
    }),
  };
}
