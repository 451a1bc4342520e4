import { createOutbound } from "#outbound";
import { AgentHttp } from "../auth/agent-http.ts";
import { type Auth, createCredentials } from "../auth/credentials.ts";
import { ValidationError } from "./errors.ts";
import { MAX_TIMER_MS } from "@convoke/protocol/internal";
import { sleep } from "@convoke/protocol/internal";

export const SYSTEM_CLOCK: Clock = { now: () => Date.now(), sleep };

const CARD_PATH = "/.well-known/agent-card.json";

/** Who calls an agent, and where the call may lead. */
export interface PeerOptions {
  /** A bearer token, for the origin of the given URL only. Short for `auth: { bearer }`. */
  readonly token?: string | undefined;
  /** Any other way to say who is calling, bound to the same origin. */
  readonly auth?: Auth | undefined;
  /**
   * False for a URL that comes from a model or from the network: then it may lead
   * to public addresses only. By default it is yours and may lead anywhere.
   */
  readonly trusted?: boolean | undefined;
  /** What else may be reached although it is not public: `host`, `host:port`, an address or a range. */
  readonly allow?: readonly string[] | undefined;
  /** When it aborts, the call rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** For tests; by default the time of this machine. */
  readonly clock?: Clock | undefined;
}

/** The way to one agent. */
export interface Peer {
  readonly http: AgentHttp;
  /** Closes connections that are kept for later. */
  close(): void;
}

/** Opens nothing yet. Each request goes out by the egress policy. */
export function openPeer(base: string, options: PeerOptions): Peer {
  const { token, auth, trusted = true, allow } = options;
  const { origin } = new URL(base);
  checkCredentialsBound(options);
  const credentials = createCredentials({ auth, token, origin });
  const given = [auth?.origin ?? []].flat();
  const client = createOutbound({ trusted: trusted ? [origin, ...given] : given, allow });
  return {
    http: new AgentHttp({ client, version: "1.0", credentials }),
    close: () => client.close(),
  };
}

/** A model that may name any address could have the credentials sent to its own. */
export function checkCredentialsBound({ token, auth, trusted = true }: PeerOptions): void {
  const hasCredentials = token !== undefined || auth !== undefined;
  if (trusted || !hasCredentials || auth?.origin !== undefined) return;
  throw new ValidationError(
    "credentials for a URL that is not trusted must name the origin that they are for; " +
      "use auth: { …, origin }",
    { field: "auth.origin" },
  );
}

/** One spelling for each agent: no slash at the end, no query, no fragment. */
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

/** Where the agent at this address shows its card. */
export function cardUrlFor(base: string): string {
  return `${base}${CARD_PATH}`;
}

/** A time limit as it was given, or an error that names the option. */
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
  /** What is thrown when the time is up. */
  readonly error: Error;
}

/**
 * Does the work within a time limit. Whatever the work makes of its signal, the
 * waiting ends when the time is up or the caller's own signal aborts.
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

/** The time, as far as it matters here. Tests bring one that they turn by hand. */
export interface Clock {
  /** Milliseconds since any fixed moment. */
  now(): number;
  /** Waits; rejects with the signal's reason when it aborts meanwhile. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}
