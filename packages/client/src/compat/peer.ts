import { createOutbound } from "#outbound";
import { AgentHttp } from "../auth/agent-http.ts";
import { type Auth, createCredentials, givenUrls } from "../auth/credentials.ts";
import { ValidationError } from "./errors.ts";
import { MAX_TIMER_MS } from "@convoke/protocol/internal";
import { sleep } from "@convoke/protocol/internal";

export const SYSTEM_CLOCK: Clock = { now: () => Date.now(), sleep };

/** Credentials for a call, and what it may reach. */
export interface PeerOptions {
  /** A bearer token, sent only to the origin of the given URL. Short for `auth: { bearer }`. */
  readonly token?: string | undefined;
  /** Any other credentials, bound to the same origin. */
  readonly auth?: Auth | undefined;
  /**
   * Set to false for a URL that comes from a model or from the network: then it may lead to public
   * addresses only. Default true.
   */
  readonly trusted?: boolean | undefined;
  /** Further non-public destinations that may be reached: `host`, `host:port`, an address or a range. */
  readonly allow?: readonly string[] | undefined;
  /** If it aborts, the call rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** For tests. Default: the system clock. */
  readonly clock?: Clock | undefined;
}

/** HTTP access to one agent. */
export interface Peer {
  readonly http: AgentHttp;
  /** Closes idle connections. */
  close(): void;
}

/** Opens no connection yet. Every request passes the egress policy. */
export function openPeer(base: string, options: PeerOptions): Peer {
  const { token, auth, trusted = true, allow } = options;
  const { origin } = new URL(base);
  checkCredentialsBound(options);
  const given = givenUrls(auth);
  const client = createOutbound({ trusted: trusted ? [origin, ...given] : given, allow });
  const credentials = createCredentials({ auth, token, url: base, client });
  return {
    http: new AgentHttp({ client, version: "1.0", credentials }),
    close: () => client.close(),
  };
}

/** Rejects credentials without an origin for an untrusted URL: a model could have them sent to a URL of its choice. */
export function checkCredentialsBound({ token, auth, trusted = true }: PeerOptions): void {
  const hasCredentials = token !== undefined || auth !== undefined;
  if (trusted || !hasCredentials || auth?.origin !== undefined) return;
  throw new ValidationError(
    "credentials for a URL that is not trusted must name the origin that they are for; " +
      "use auth: { …, origin }",
    { field: "auth.origin" },
  );
}

const CARD_PATH = "/.well-known/agent-card.json";

/** Normalizes the URL of an agent: no trailing slash, no query, no fragment. */
export function parseBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new ValidationError(
      `baseUrl must be an http or https URL such as https://agent.example.com, not "${text}"`,
      { field: "baseUrl" },
    );
  }
  if (url.username !== "" || url.password !== "") {
    throw new ValidationError(
      `baseUrl holds a user name or a password for ${url.host}; leave them out and use auth: { basic }`,
      { field: "baseUrl" },
    );
  }
  const path = url.pathname.endsWith(CARD_PATH)
    ? url.pathname.slice(0, -CARD_PATH.length)
    : url.pathname;
  return `${url.origin}${path.replace(/\/+$/, "")}`;
}

/** The URL of the agent's card. */
export function cardUrlFor(base: string): string {
  return `${base}${CARD_PATH}`;
}

/** Rejects an invalid time limit, naming the option. */
export function checkMs<T extends number | undefined>(field: string, ms: T): T {
  if (ms === undefined || (ms >= 1 && ms <= MAX_TIMER_MS)) return ms;
  throw new ValidationError(
    `${field} must be a number of milliseconds from 1 to ${MAX_TIMER_MS}, not ${String(ms)}`,
    { field },
  );
}

interface TimeLimit {
  readonly clock: Clock;
  readonly ms: number;
  readonly signal?: AbortSignal | undefined;
  /** Thrown when the time is up. */
  readonly error: Error;
}

/**
 * Runs the work with a time limit. Even if the work ignores its signal, this rejects when the time is
 * up or the caller's signal aborts.
 */
export async function withTimeLimit<T>(
  { clock, ms, signal, error }: TimeLimit,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const over = new AbortController();
  const timeUp = new AbortController();
  const stop = AbortSignal.any([timeUp.signal, ...(signal ? [signal] : [])]);
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const onStop = () => reject(stop.reason as Error);
  stop.addEventListener("abort", onStop, { once: true });
  clock.sleep(ms, over.signal).then(
    () => timeUp.abort(error),
    () => undefined,
  );
  try {
    return await Promise.race([work(stop), stopped]);
  } finally {
    over.abort();
    stop.removeEventListener("abort", onStop);
  }
}

/** A clock; tests pass one that they advance by hand. */
export interface Clock {
  /** Milliseconds since any fixed moment. */
  now(): number;
  /** Waits; rejects with the signal's reason if it aborts meanwhile. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}
