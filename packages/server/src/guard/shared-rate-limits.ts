import type { Logger, RateLimit, RateStore } from "@convoke/engine";
import {
  MemoryRateLimits,
  type RateLimitStore,
  type RateState,
  RecentBuckets,
  type TakeFacts,
} from "./rate-limit.ts";

/** Which part of a limit a server draws at once. */
const SHARE = 0.02;

/** How often a failure of the store is logged. */
const LOG_MS = 10_000;

/** What a server knows about the bucket of a caller. */
interface Credit {
  /** Tokens that it has drawn and not used. */
  tokens: number;
  /** What was left in the bucket when it drew them, and when that was. */
  left: number;
  at: number;
  /** Until when there is nothing to draw. */
  emptyUntil: number;
  drawing: Promise<void> | undefined;
}

/**
 * Buckets that several servers share. Each server draws 2 % of a limit at a time, at least one token,
 * and the next ones before those are used up: a request waits for the store only if its caller was
 * not seen here for a while, or is close to its limit. A server never has more than 3 % of a limit,
 * which expire with the window: so much more than the limit may each server admit, if it drew them
 * before the caller became busy.
 * While the store fails, each server limits its callers on its own.
 */
export class SharedRateLimits implements RateLimitStore {
  readonly #store: RateStore;
  readonly #logger: Logger;
  readonly #credits = new RecentBuckets<Credit>();
  readonly #own = new MemoryRateLimits();
  #loggedAt = -Infinity;

  constructor(store: RateStore, logger: Logger) {
    this.#store = store;
    this.#logger = logger;
  }

  take(key: string, rate: RateLimit, facts: TakeFacts): RateState | Promise<RateState> {
    const { windowMs } = rate;
    const { cost, now } = facts;
    let credit = this.#credits.get(key, { windowMs, now });
    if (credit === undefined) {
      credit = { tokens: 0, left: rate.limit, at: now, emptyUntil: 0, drawing: undefined };
      if (cost === 1) this.#credits.set(key, credit);
    }
    if (now - credit.at >= windowMs) credit.tokens = 0;
    const isKnown = credit.tokens >= 1 || now < credit.emptyUntil;
    // A look decides nothing: the first failed login in a row finds out.
    if (isKnown || cost === 0) return this.#takeKnown(key, rate, { credit, facts });
    return this.#takeDrawn(key, rate, { credit, facts });
  }

  #takeKnown(key: string, rate: RateLimit, { credit, facts: { cost, now } }: Taking): RateState {
    const isAllowed = now >= credit.emptyUntil || credit.tokens >= 1;
    if (isAllowed) credit.tokens = Math.max(0, credit.tokens - cost);
    const isLow = cost === 1 && isAllowed && credit.tokens < share(rate) / 2;
    if (isLow && share(rate) > 1) {
      // If it fails, the request that finds no token left draws again.
      this.#draw(key, rate, credit, now).catch(() => undefined);
    }
    const refilled = (Math.max(0, now - credit.at) * rate.limit) / rate.windowMs;
    const tokens = Math.min(rate.limit, credit.tokens + credit.left + refilled);
    return { isAllowed, tokens: isAllowed ? tokens : Math.min(tokens, 0.999) };
  }

  async #takeDrawn(key: string, rate: RateLimit, taking: Taking): Promise<RateState> {
    const { credit, facts } = taking;
    try {
      // Others that wait for the same tokens may have taken them.
      while (credit.tokens < 1 && facts.now >= credit.emptyUntil) {
        await this.#draw(key, rate, credit, facts.now);
      }
      return this.#takeKnown(key, rate, taking);
    } catch (error) {
      this.#log(error);
      return this.#own.take(key, rate, facts);
    }
  }

  #draw(key: string, rate: RateLimit, credit: Credit, now: number): Promise<void> {
    credit.drawing ??= this.#store
      .draw(key, rate, share(rate))
      .then(({ drawn, left }) => {
        credit.tokens += drawn;
        credit.left = left;
        credit.at = now;
        if (drawn === 0) credit.emptyUntil = now + ((1 - left) * rate.windowMs) / rate.limit;
      })
      .finally(() => (credit.drawing = undefined));
    return credit.drawing;
  }

  #log(error: unknown): void {
    if (performance.now() - this.#loggedAt < LOG_MS) return;
    this.#loggedAt = performance.now();
    this.#logger.warn("requests are counted by this server alone, because the store failed", {
      error,
    });
  }
}

interface Taking {
  readonly credit: Credit;
  readonly facts: TakeFacts;
}

/** How many tokens are drawn at once. */
function share({ limit }: RateLimit): number {
  return Math.max(1, Math.floor(limit * SHARE));
}
