import { createOutbound } from "#outbound";
import { AgentHttp } from "./auth/agent-http.ts";
import { createCredentials } from "./auth/create-credentials.ts";
import type { Credentials } from "./auth/credentials.ts";
import { credentialsKey } from "./auth/credentials-key.ts";
import { type CardSignature, checkCard } from "./cards/check-card.ts";
import { type ReadUrl, findCard } from "./cards/find-card.ts";
import { DocumentCache } from "./cards/document-cache.ts";
import { checkAtLeast } from "./connection/retry-options.ts";
import type { DiscoverOptions, DiscoveredCard } from "./discover.ts";
import { type HttpClient, readText } from "@convoke/egress/http";
import { ClientError } from "@convoke/protocol";
import { timeoutSignal } from "@convoke/protocol/internal";
import type { FetchDocument } from "./cards/document.ts";

/** Much more than any card needs. */
const MAX_BYTES = 1024 * 1024;

/** Cards are ready to be read; who takes longer is not there. */
const TIMEOUT_MS = 30_000;

const OWN = new DocumentCache();

const OTHERS = new WeakMap<Fetch, DocumentCache>();

/** What stands between us and one agent: who we are to it, and the way there. */
export class Visit {
  readonly client: HttpClient;
  readonly credentials: Credentials | undefined;
  readonly #given: URL;
  readonly #options: DiscoverOptions;
  readonly #cache: DocumentCache;

  constructor(url: string, options: DiscoverOptions) {
    this.#given = agentUrl(url);
    this.#options = options;
    const { auth, token, fetch, allow, timeoutMs } = options;
    if (timeoutMs !== undefined) checkAtLeast("timeoutMs", timeoutMs, 1);
    const { origin } = this.#given;
    this.credentials = createCredentials({ auth, token, origin });
    const origins = [auth?.origin ?? []].flat();
    const trusted = options.trusted === false ? origins : [origin, ...origins];
    this.client = createOutbound({ trusted, allow, fetch });
    // A cache of its own knows nothing yet.
    this.#cache = options.cache === false ? new DocumentCache() : cacheFor(fetch);
  }

  /** Finds the card and looks at its signatures. */
  async findCard(): Promise<DiscoveredCard> {
    const { auth, token } = this.#options;
    const read = this.#reader(this.credentials, credentialsKey(auth, token));
    const found = await findCard(this.#given, read);
    return { ...found, signature: await this.checkCard(found) };
  }

  /** Throws when the signatures of the card are not what the options demand. */
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

  #reader(credentials: Credentials | undefined, key: string): ReadUrl {
    const { version = "1.0", trusted = true, signal, timeoutMs } = this.#options;
    const http = new AgentHttp({ client: this.client, version, credentials });
    const fetch = documentsBy(http, timeoutMs);
    // Who may reach public addresses only is not told what others found elsewhere.
    const name = `${version} ${trusted ? "anywhere" : "public"} ${key}`;
    return (url) => this.#cache.read({ url, key: name, fetch, signal });
  }
}

function agentUrl(text: string): URL {
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

/** The cards of this process. What another `fetch` brought is seen by that one alone. */
function cacheFor(fetch: Fetch | undefined): DocumentCache {
  if (fetch === undefined) return OWN;
  const known = OTHERS.get(fetch);
  if (known !== undefined) return known;
  const cache = new DocumentCache();
  OTHERS.set(fetch, cache);
  return cache;
}

/** Gets documents as the agent's caller. */
function documentsBy(http: AgentHttp, timeoutMs: number = TIMEOUT_MS): FetchDocument {
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
