/** A token bucket: it holds `limit` tokens, and is refilled evenly so that it is full after `windowMs`. */
export interface RateLimit {
  readonly limit: number;
  readonly windowMs: number;
}

/** Tokens that were taken from a bucket. */
export interface DrawnTokens {
  /** A whole number, at most as many as were asked for. */
  readonly drawn: number;
  /** What is left in the bucket; not always a whole number. */
  readonly left: number;
}

/** Keeps counts that several servers have in common. */
export interface RateStore {
  /** Takes up to `amount` tokens from a bucket. A bucket that does not exist is full. */
  draw(key: string, rate: RateLimit, amount: number): Promise<DrawnTokens>;
  /**
   * Records that something arrived, unless `limit` others did in the last `windowMs`. Resolves to 0,
   * or to the milliseconds until the oldest of those is that long ago.
   */
  arrive(key: string, rate: RateLimit): Promise<number>;
  /** Removes counts: they begin anew. */
  forget(keys: readonly string[]): Promise<void>;
}
