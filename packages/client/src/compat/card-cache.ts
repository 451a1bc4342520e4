import { SharedWork } from "../cards/shared-work.ts";
import type { RawCard } from "@convoke/protocol";

/** Five minutes, whatever the headers of the answer say. */
const FRESH_MS = 5 * 60_000;

/** About as many agents as one program calls. */
const MAX_CARDS = 256;

interface Kept {
  readonly card: RawCard;
  readonly since: number;
}

export interface CardRead {
  /** Identifies the card and the caller. */
  readonly key: string;
  readonly now: () => number;
  readonly load: (signal: AbortSignal) => Promise<RawCard>;
  readonly signal: AbortSignal | undefined;
}

/** Caches cards for five minutes each. Concurrent reads of the same card share one request. */
export class CardCache {
  #kept = new Map<string, Kept>();
  #loading = new Map<string, SharedWork<RawCard>>();

  async read({ key, now, load, signal }: CardRead): Promise<RawCard> {
    const known = this.#kept.get(key);
    if (known !== undefined && now() - known.since <= FRESH_MS) return known.card;
    this.#prune(now());
    const loading = this.#loading;
    const work = loading.get(key) ?? new SharedWork((stop) => this.#load({ key, now, load }, stop));
    loading.set(key, work);
    work.onEnd(() => {
      if (loading.get(key) === work) loading.delete(key);
    });
    return work.wait(signal);
  }

  /** Requests in flight still resolve for their waiters, but are not cached. */
  clear(): void {
    this.#kept = new Map();
    this.#loading = new Map();
  }

  async #load({ key, now, load }: Omit<CardRead, "signal">, stop: AbortSignal): Promise<RawCard> {
    const kept = this.#kept;
    const card = await load(stop);
    // An incomplete card may be fixed any time, so it is not cached.
    if (missingFields(card).length === 0) kept.set(key, { card, since: now() });
    return card;
  }

  #prune(now: number): void {
    for (const [key, { since }] of this.#kept) {
      const isStale = now - since > FRESH_MS;
      if (isStale || this.#kept.size >= MAX_CARDS) this.#kept.delete(key);
    }
  }

  /** The number of cached cards, including stale ones. */
  get size(): number {
    return this.#kept.size;
  }
}

/** The required fields that a card lacks. */
export function missingFields(card: RawCard): readonly string[] {
  return ["name", "version"].filter((field) => {
    const value = card[field];
    return typeof value !== "string" || value === "";
  });
}
