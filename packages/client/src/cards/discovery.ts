import { createOutbound } from "#outbound";
import type { ClientCertificate } from "../outbound/fetch-outbound.ts";
import { type HttpClient, readText } from "@convoke/egress/http";
import { ClientError, type ProtocolVersion } from "@convoke/protocol";
import { timeoutSignal } from "@convoke/protocol/internal";
import { AgentHttp } from "../auth/agent-http.ts";
import {
  type Auth,
  type Credentials,
  createCredentials,
  credentialsKey,
  givenUrls,
} from "../auth/credentials.ts";
import type { DiscoveredCard } from "./card.ts";
import { type CardSignature, type SignatureOptions, checkCard } from "./check-card.ts";
import { DocumentCache, type FetchDocument } from "./document-cache.ts";
import { type CardNotice, type ReadUrl, findCard } from "./find-card.ts";

export interface DiscoverOptions extends SignatureOptions {
  /** A bearer token, sent only to the origin of the given URL. Short for `auth: { bearer }`. */
  readonly token?: string | undefined;
  /** Any other credentials, bound to the same origin unless `auth.origin` says otherwise. */
  readonly auth?: Auth | undefined;
  /**
   * A certificate that identifies you to the agent (mutual TLS). It is presented to the origin of the
   * given URL, and to those of `auth.origin`. Not available in browsers or with `fetch`.
   */
  readonly certificate?: ClientCertificate | undefined;
  /** Use only this version of A2A; by default the newest that the agent offers. */
  readonly version?: ProtocolVersion | undefined;
  /**
   * Non-public destinations that a card may lead to: `host`, `host:port`, an address or a range.
   * The origin of the given URL is always allowed; by default nothing else is.
   */
  readonly allow?: readonly string[] | undefined;
  /**
   * Set to false for a URL that comes from a model or from the network: then it may lead to public
   * addresses only, like any URL in a card. Default true: you gave the URL.
   */
  readonly trusted?: boolean | undefined;
  /** False fetches the card again. By default it is cached for as long as its server allows. */
  readonly cache?: boolean | undefined;
  /** Used instead of the client's own connections. Then gRPC is not available and no egress policy applies. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Time limit for fetching the card, in milliseconds; default 30 s. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called if the card is not at the path of the URL, but at its origin. */
  readonly onNotice?: ((notice: CardNotice) => void) | undefined;
}

/**
 * Reads the card of an agent without calling the agent.
 *
 * @param url The base URL of the agent, or the URL of the card.
 */
export async function discover(
  url: string,
  options: DiscoverOptions = {},
): Promise<DiscoveredCard> {
  const discovery = new AgentDiscovery(url, options);
  try {
    return await discovery.findCard();
  } finally {
    discovery.client.close();
  }
}

/** Finds the card of one agent. The calls that follow use the same HTTP client and credentials. */
export class AgentDiscovery {
  readonly client: HttpClient;
  readonly credentials: Credentials | undefined;
  readonly #given: URL;
  readonly #options: DiscoverOptions;
  readonly #cache: DocumentCache;

  constructor(url: string, options: DiscoverOptions) {
    this.#given = parseAgentUrl(url);
    this.#options = options;
    const { auth, token, fetch, allow, timeoutMs, certificate } = options;
    if (timeoutMs !== undefined) checkAtLeast("timeoutMs", timeoutMs, 1);
    const { origin } = this.#given;
    const given = givenUrls(auth);
    const ownOrigins = [origin, auth?.origin ?? []].flat();
    this.client = createOutbound({
      trusted: options.trusted === false ? given : [origin, ...given],
      allow,
      fetch,
      certificate: certificate && { ...certificate, origins: ownOrigins },
    });
    this.credentials = createCredentials({ auth, token, url, client: this.client });
    this.#cache = options.cache === false ? new DocumentCache() : cacheFor(fetch);
  }

  /** Finds the card and verifies its signatures. */
  async findCard(): Promise<DiscoveredCard> {
    const { auth, token } = this.#options;
    const read = this.#reader(this.credentials, credentialsKey(auth, token));
    const found = await findCard(this.#given, read, this.#options.onNotice);
    return { ...found, signature: await this.checkCard(found) };
  }

  /** Rejects if the signatures of the card are not what the options require. */
  checkCard(discovered: DiscoveredCard): Promise<CardSignature> {
    const { signatures, trustedKeys, jkuOrigins } = this.#options;
    return checkCard(discovered, {
      signatures,
      trustedKeys,
      jkuOrigins,
      read: this.#reader(undefined, "nobody"),
      trustedOrigin: this.#given.origin,
    });
  }

  #reader(credentials: Credentials | undefined, caller: string): ReadUrl {
    const { version = "1.0", trusted = true, allow = [], signal, timeoutMs } = this.#options;
    const http = new AgentHttp({ client: this.client, version, credentials });
    const fetch = createFetchDocument(http, timeoutMs);
    // A caller restricted to public addresses must not see what a less restricted one cached.
    const reach = trusted ? "anywhere" : JSON.stringify(allow);
    const key = `${version} ${reach} ${caller}`;
    return (url) => this.#cache.read({ url, key, fetch, signal });
  }
}

/** Rejects a value that is not a number or too small, naming the option. */
export function checkAtLeast(name: string, value: number, least: number): void {
  if (Number.isFinite(value) && value >= least) return;
  throw new TypeError(`${name} must be a number of at least ${least}`);
}

function parseAgentUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new TypeError(`"${text}" is not an http or https URL`);
  }
  if (url.username === "" && url.password === "") return url;
  throw new TypeError(
    `the URL of ${url.host} holds a user name or a password; leave them out and give auth: { basic }`,
  );
}

type Fetch = typeof globalThis.fetch;

/** The cards of this process, shared by all connections that use the client's own HTTP. */
const SHARED_CACHE = new DocumentCache();

/** Forgets them all. In tests, another agent may get the port of one that has stopped. */
export function forgetCards(): void {
  SHARED_CACHE.clear();
}

/** A card fetched by the caller's own `fetch` is visible to that function alone. */
const CACHES = new WeakMap<Fetch, DocumentCache>();

function cacheFor(fetch: Fetch | undefined): DocumentCache {
  if (fetch === undefined) return SHARED_CACHE;
  const cache = CACHES.get(fetch) ?? new DocumentCache();
  CACHES.set(fetch, cache);
  return cache;
}

/** Much more than any card needs. */
const MAX_BYTES = 1024 * 1024;

/** A card is a static document: a server that needs longer is not working. */
const TIMEOUT_MS = 30_000;

function createFetchDocument(http: AgentHttp, timeoutMs: number = TIMEOUT_MS): FetchDocument {
  return async (url, headers, signal) => {
    const timeout = timeoutSignal(timeoutMs);
    const both = AbortSignal.any([signal, timeout]);
    try {
      const answer = await http.request({
        url,
        headers: { Accept: "application/json", ...headers },
        signal: both,
      });
      const text = await readText(answer, both, MAX_BYTES);
      const { status, statusText } = answer;
      return { status, statusText, headers: answer.headers, text, url: answer.url };
    } catch (error) {
      if (!timeout.aborted || signal.aborted) throw error;
      throw new ClientError("unreachable", `${url} did not answer within ${timeoutMs} ms`);
    }
  };
}
