import { A2AError, type Caller, type OperationName } from "@convoke/protocol";
import type { RateLimit } from "@convoke/engine";
import { clientAddress } from "../http/address.ts";
import type { HttpHeaders, HttpRequest } from "../http/exchange.ts";

/**
 * What is counted together: requests that read, that change something, that open a stream, and
 * failed logins. The first three are counted for each caller, failed logins for each address.
 */
export type RateClass = "read" | "write" | "stream" | "login";

/** How many requests a caller may send. */
export interface RateLimitOptions extends Readonly<Partial<Record<RateClass, RateLimit | false>>> {
  /**
   * Where the buckets are. Default: the memory of this process, or the database if the tasks are in
   * one that several servers share.
   */
  readonly store?: RateLimitStore;
  /** The clock, in milliseconds since the epoch. Default `Date.now`. */
  readonly now?: () => number;
}

/** Keeps the buckets. Several servers that share one also share their limits. */
export interface RateLimitStore {
  /**
   * Takes `cost` tokens from a bucket if it has at least one, otherwise nothing. A cost of 0 only
   * looks. A bucket that does not exist is full.
   */
  take(key: string, limit: RateLimit, facts: TakeFacts): RateState | Promise<RateState>;
}

export interface TakeFacts {
  readonly cost: 0 | 1;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** A bucket after a request. */
export interface RateState {
  readonly isAllowed: boolean;
  /** The tokens that are left; not always a whole number. */
  readonly tokens: number;
}

const MINUTE = 60_000;

/**
 * For servers that other machines can reach: more than an application sends for one user, and few
 * enough that a caller in an endless loop is stopped.
 */
export const DEFAULT_RATE_LIMITS: Readonly<Record<RateClass, RateLimit>> = {
  read: { limit: 6000, windowMs: MINUTE },
  write: { limit: 1200, windowMs: MINUTE },
  stream: { limit: 1200, windowMs: MINUTE },
  login: { limit: 60, windowMs: MINUTE },
};

/** For servers that only this machine can reach: more than one process can answer. */
export const LOCAL_RATE_LIMITS: Readonly<Record<RateClass, RateLimit>> = {
  read: { limit: 600_000, windowMs: MINUTE },
  write: { limit: 600_000, windowMs: MINUTE },
  stream: { limit: 600_000, windowMs: MINUTE },
  login: { limit: 600, windowMs: MINUTE },
};

const CLASSES = Object.keys(DEFAULT_RATE_LIMITS) as readonly RateClass[];

const CLASS_OF: Readonly<Record<OperationName, RateClass>> = {
  sendMessage: "write",
  sendStreamingMessage: "stream",
  getTask: "read",
  listTasks: "read",
  cancelTask: "write",
  subscribeToTask: "stream",
  createPushConfig: "write",
  getPushConfig: "read",
  listPushConfigs: "read",
  deletePushConfig: "write",
  getExtendedCard: "read",
};

/** The class of an operation. A request for an unknown one is answered without work, like a read. */
export function rateClass(operation: OperationName | undefined): RateClass {
  return operation === undefined ? "read" : CLASS_OF[operation];
}

/** What the rate limits of a server depend on. */
interface RateLimiterFacts {
  /** Whether only this machine can reach the server. */
  readonly isLocal: boolean;
  /** Whether callers are known. If not, each address is a caller. */
  readonly hasCallers: boolean;
  readonly trustProxy: boolean;
}

/** Limits how many requests each caller sends, and how many logins may fail for each address. */
export class RateLimiter {
  readonly #limits: Readonly<Record<RateClass, RateLimit | false>>;
  readonly #store: RateLimitStore;
  readonly #now: () => number;
  readonly #facts: RateLimiterFacts;
  #failedLogins = 0;

  constructor(options: RateLimitOptions | false, facts: RateLimiterFacts) {
    const { store = new MemoryRateLimits(), now = Date.now, ...given } = options || {};
    const defaults = facts.isLocal ? LOCAL_RATE_LIMITS : DEFAULT_RATE_LIMITS;
    this.#limits = options === false ? UNLIMITED : { ...defaults, ...given };
    this.#store = store;
    this.#now = now;
    this.#facts = facts;
  }

  /** Counts a request of a caller. It is not limited if nothing tells its caller from others. */
  count(
    request: HttpRequest,
    caller: Caller,
    kind: RateClass,
  ): CountedRequest | Promise<CountedRequest> {
    const limit = this.#limits[kind];
    const name = this.sourceOf(request, caller);
    if (limit === false || name === undefined) return NOT_LIMITED;
    const now = this.#now();
    const counted = (state: RateState): CountedRequest => ({
      headers: headersFor(state, limit, now),
      ...(!state.isAllowed && { rejection: exceeded(kind, limit, state) }),
    });
    const taken = this.#store.take(`${kind} ${name}`, limit, { cost: 1, now });
    return taken instanceof Promise ? taken.then(counted) : counted(taken);
  }

  /** Whose limits a request counts for: its authenticated caller, else its address, if it is known. */
  sourceOf(request: HttpRequest, { tenant = "", owner }: Caller): string | undefined {
    return this.#facts.hasCallers ? `${tenant} ${owner}` : this.addressOf(request);
  }

  /** The keys under which the requests of an authenticated caller are counted. */
  static keysOf({ tenant = "", owner }: Caller): readonly string[] {
    return ["read", "write", "stream", "inbound"].map((kind) => `${kind} ${tenant} ${owner}`);
  }

  /** Rejects a request from an address where too many logins have failed, before its credentials are checked. */
  checkLogin(request: HttpRequest): void | Promise<void> {
    return this.#login(request, 0);
  }

  /** Counts a failed login. Rejects one beyond the limit, so that its caller does not learn whether the guess was right. */
  async failedLogin(request: HttpRequest): Promise<void> {
    this.#failedLogins++;
    await this.#login(request, 1);
  }

  /** How many logins have failed. If it changes while credentials are checked, the limit may be reached meanwhile. */
  get failedLogins(): number {
    return this.#failedLogins;
  }

  /** Without a promise if the store needs none: every request with credentials comes by here. */
  #login(request: HttpRequest, cost: 0 | 1): void | Promise<void> {
    const limit = this.#limits.login;
    const address = limit === false ? undefined : this.addressOf(request);
    if (limit === false || address === undefined) return;
    const check = (state: RateState): void => {
      if (!state.isAllowed) throw exceeded("login", limit, state);
    };
    const state = this.#store.take(`login ${address}`, limit, { cost, now: this.#now() });
    return state instanceof Promise ? state.then(check) : check(state);
  }

  /** The address of the client, if it is known. An owner of IPv6 addresses has a whole /64 of them, so it counts as one. */
  addressOf(request: HttpRequest): string | undefined {
    const address = clientAddress(request, this.#facts.trustProxy);
    if (address?.includes(":") !== true) return address;
    const [, v4] = /^::ffff:([\d.]+)$/i.exec(address) ?? [];
    return v4 ?? prefix64(address);
  }

  /** Whether logins can fail. */
  get hasLogins(): boolean {
    return this.#facts.hasCallers;
  }
}

function prefix64(address: string): string {
  const [head = "", tail] = address.split("%")[0]!.toLowerCase().split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => "0");
  const groups = tail === undefined ? before : [...before, ...zeros, ...after];
  return `${groups.slice(0, 4).join(":")}::/64`;
}

const UNLIMITED = { read: false, write: false, stream: false, login: false } as const;

/** What a request costs its caller. */
interface CountedRequest {
  readonly headers: HttpHeaders;
  /** Why the request must not be performed. */
  readonly rejection?: A2AError;
}

const NOT_LIMITED: CountedRequest = { headers: {} };

/** The limit, what is left of it, and when all of it is available again, in seconds since the epoch. */
function headersFor({ tokens }: RateState, rate: RateLimit, now: number): HttpHeaders {
  const { limit, windowMs } = rate;
  const fullAt = now + ((limit - tokens) * windowMs) / limit;
  return {
    "x-ratelimit-limit": String(limit),
    "x-ratelimit-remaining": String(Math.floor(tokens)),
    "x-ratelimit-reset": String(Math.ceil(fullAt / 1000)),
  };
}

function exceeded(
  kind: RateClass,
  { limit, windowMs }: RateLimit,
  { tokens }: RateState,
): A2AError {
  const what = kind === "login" ? "failed logins from your address" : `${kind} requests`;
  const retryAfterMs = Math.ceil(((1 - tokens) * windowMs) / limit);
  const problem = `more than ${limit} ${what} in ${windowMs / 1000} s (the limit rateLimits.${kind}): try again in ${Math.ceil(retryAfterMs / 1000)} s`;
  return new A2AError("TooManyRequests", problem, {
    details: { limit: `rateLimits.${kind}`, most: String(limit) },
    retryAfterMs,
  });
}

interface Bucket {
  tokens: number;
  at: number;
}

/** More callers than one process serves in a window; each bucket takes about 200 bytes. */
const MAX_BUCKETS = 100_000;

/** Buckets in memory. */
export class MemoryRateLimits implements RateLimitStore {
  readonly #buckets = new RecentBuckets<Bucket>();

  take(key: string, { limit, windowMs }: RateLimit, { cost, now }: TakeFacts): RateState {
    const kept = this.#buckets.get(key, { windowMs, now });
    const bucket = kept ?? { tokens: limit, at: now };
    // The clock of a machine can be set back.
    const passedMs = Math.max(0, now - bucket.at);
    const tokens = Math.min(limit, bucket.tokens + (passedMs * limit) / windowMs);
    const isAllowed = tokens >= 1;
    bucket.tokens = isAllowed ? tokens - cost : tokens;
    bucket.at = now;
    // A full bucket is the same as none.
    if (cost === 1 && kept === undefined) this.#buckets.set(key, bucket);
    return { isAllowed, tokens: bucket.tokens };
  }

  get size(): number {
    return this.#buckets.size;
  }
}

/**
 * What is known about callers. A bucket that was not used for its window is full, and need not be
 * kept: every such period the buckets become the old ones, and old ones that nobody used meanwhile
 * are dropped.
 */
export class RecentBuckets<Known> {
  #buckets = new Map<string, Known>();
  #old = new Map<string, Known>();
  #longestMs = 0;
  #since = 0;

  get(
    key: string,
    { windowMs, now }: { readonly windowMs: number; readonly now: number },
  ): Known | undefined {
    this.#longestMs = Math.max(this.#longestMs, windowMs);
    this.#dropOld(now);
    const current = this.#buckets.get(key);
    if (current !== undefined) return current;
    const old = this.#old.get(key);
    if (old !== undefined) this.#buckets.set(key, old);
    return old;
  }

  set(key: string, known: Known): void {
    this.#buckets.set(key, known);
  }

  get size(): number {
    return this.#buckets.size + this.#old.size;
  }

  #dropOld(now: number): void {
    const isOver = now - this.#since >= this.#longestMs || now < this.#since;
    if (!isOver && this.#buckets.size < MAX_BUCKETS) return;
    this.#old = this.#buckets;
    this.#buckets = new Map();
    this.#since = now;
  }
}

const UNITS: Readonly<Record<string, number>> = { s: 1000, min: MINUTE, h: 60 * MINUTE };

/**
 * Parses limits such as `write=100/min, read=20/s, login=off`, or `off` for none at all. Classes that
 * are not named keep their defaults. Throws a TypeError that says what is wrong.
 */
export function parseRateLimits(text: string): RateLimitOptions | false {
  if (text.trim() === "off") return false;
  const entries = text.split(",").filter((entry) => entry.trim() !== "");
  return Object.fromEntries(entries.map(parseEntry));
}

function parseEntry(entry: string): readonly [RateClass, RateLimit | false] {
  const [, name, rate = ""] = /^\s*(\w+)\s*=\s*(.*?)\s*$/.exec(entry) ?? [];
  const kind = CLASSES.find((one) => one === name);
  const [, amount, unit = ""] = /^([1-9]\d{0,8})\/(s|min|h)$/.exec(rate) ?? [];
  if (kind !== undefined && rate === "off") return [kind, false];
  if (kind !== undefined && amount !== undefined) {
    return [kind, { limit: Number(amount), windowMs: UNITS[unit]! }];
  }
  throw new TypeError(
    `${JSON.stringify(entry.trim())} is not a rate such as write=100/min, read=20/s or login=off; the classes are ${CLASSES.join(", ")}`,
  );
}

/** Rejects limits that could never let a request through. */
export function checkRateLimits(options: RateLimitOptions | false = {}): void {
  if (options === false) return;
  for (const kind of CLASSES) {
    const rate = options[kind];
    if (!rate || (Number.isInteger(rate.limit) && rate.limit >= 1 && rate.windowMs > 0)) continue;
    throw new RangeError(
      `rateLimits.${kind} must be { limit, windowMs } with a whole number above 0 and milliseconds above 0, or false`,
    );
  }
}
