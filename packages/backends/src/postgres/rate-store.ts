import { hash } from "node:crypto";
import type { DrawnTokens, RateLimit, RateStore } from "@convoke/engine";
import type { Connection, Rows } from "./connection.ts";
import { toFailure } from "./database-error.ts";

/** How often buckets that are full again are removed: a full bucket is the same as none. */
const SWEEP_MS = 60_000;

const NOW_MS = "extract(epoch FROM clock_timestamp())::float8 * 1000";

/** What a bucket `r` of the rate `$2` per `$3` ms has now. The clock is that of the database. */
const FILLED = `least($2::float8, r.tokens + greatest(0, ${NOW_MS} - r.at) * $2::float8 / $3::float8)`;

/** `granted` is in the row because the result of an upsert has only new values. */
const DRAW = `
  INSERT INTO @.rate AS r (key, tokens, granted, at, full_at)
  VALUES ($1, $2::float8 - $4::int, $4::int, ${NOW_MS}, ${NOW_MS} + $4::int * $3::float8 / $2::float8)
  ON CONFLICT (key) DO UPDATE SET (tokens, granted, at, full_at) = (
    SELECT f.tokens - g.granted, g.granted, ${NOW_MS},
      ${NOW_MS} + ($2::float8 - f.tokens + g.granted) * $3::float8 / $2::float8
    FROM (SELECT ${FILLED} AS tokens) f
    CROSS JOIN LATERAL (SELECT least($4::int, floor(f.tokens)::int) AS granted) g)
  RETURNING r.granted, r.tokens`;

/** The times of a row `r` that are less than `$3` ms ago. */
const RECENT = `ARRAY(SELECT t FROM unnest(r.times) t WHERE t > ${NOW_MS} - $3::float8 ORDER BY t)`;

/** Adds a time to at most `$2` of them; `granted` says whether it was added. */
const ARRIVE = `
  INSERT INTO @.rate AS r (key, tokens, granted, at, full_at, times)
  VALUES ($1, 0, 1, ${NOW_MS}, ${NOW_MS} + $3::float8, ARRAY[${NOW_MS}])
  ON CONFLICT (key) DO UPDATE SET (granted, at, full_at, times) = (
    SELECT g.granted, ${NOW_MS}, ${NOW_MS} + $3::float8,
      CASE g.granted WHEN 1 THEN n.recent || (${NOW_MS}) ELSE n.recent END
    FROM (SELECT ${RECENT} AS recent) n
    CROSS JOIN LATERAL (SELECT (cardinality(n.recent) < $2::int)::int AS granted) g)
  RETURNING r.granted, r.times[1] + $3::float8 - (${NOW_MS})`;

const SWEEP = `
  DELETE FROM @.rate WHERE key IN (
    SELECT key FROM @.rate WHERE full_at < ${NOW_MS} ORDER BY full_at LIMIT 1000 FOR UPDATE SKIP LOCKED)`;

/** Counts of all processes that use a database. */
export class PostgresRateStore implements RateStore {
  readonly #connection: Connection;
  readonly #sweeps: NodeJS.Timeout;

  constructor(connection: Connection) {
    this.#connection = connection;
    // What is not removed now is removed later.
    this.#sweeps = setInterval(() => void this.#rows(SWEEP).catch(() => undefined), SWEEP_MS);
    this.#sweeps.unref();
  }

  async draw(key: string, { limit, windowMs }: RateLimit, amount: number): Promise<DrawnTokens> {
    const [row] = await this.#rows(DRAW, hashed(key), limit, windowMs, amount);
    const [drawn, left] = row as readonly [number, number];
    return { drawn, left };
  }

  async arrive(key: string, { limit, windowMs }: RateLimit): Promise<number> {
    const [row] = await this.#rows(ARRIVE, hashed(key), limit, windowMs);
    const [granted, waitMs] = row as readonly [number, number];
    return granted === 1 ? 0 : Math.max(1, Math.ceil(waitMs));
  }

  async forget(keys: readonly string[]): Promise<void> {
    await this.#rows("DELETE FROM @.rate WHERE key = ANY ($1::uuid[])", keys.map(hashed));
  }

  close(): void {
    clearInterval(this.#sweeps);
  }

  async #rows(text: string, ...values: unknown[]): Promise<Rows> {
    try {
      return await this.#connection.rows(text, values);
    } catch (error) {
      throw toFailure(error, "requests could not be counted");
    }
  }
}

/** Keys contain names and addresses of callers, of any length. */
function hashed(key: string): string {
  return hash("sha256", key, "hex").slice(0, 32);
}
