/** How calls with one answer are tried again. Streams look after themselves. */
export interface RetryOptions {
  /** How often in all; by default 3. */
  readonly attempts?: number;
  /** About how long the first wait is, which doubles each time; by default 200. */
  readonly baseMs?: number;
  /** The longest wait, by default 10 000. An agent that asks for more is not waited for. */
  readonly maxMs?: number;
  /**
   * When a message may have arrived: by default it is sent again only to agents
   * that know a message by its id, "always" to any. The id stays the same.
   */
  readonly sends?: "safe" | "always";
}

export interface RetryPolicy extends Required<RetryOptions> {
  /** How long one try may take that is no message. */
  readonly timeoutMs: number;
}

const USUAL = { attempts: 3, baseMs: 200, maxMs: 10_000, sends: "safe" } as const;

const TIMEOUT_MS = 60_000;

/** Fills in the defaults; `retry: false` is one attempt. */
export function retryPolicy({
  retry,
  timeoutMs = TIMEOUT_MS,
}: {
  readonly retry?: RetryOptions | false | undefined;
  readonly timeoutMs?: number | undefined;
}): RetryPolicy {
  const options = retry === false ? { attempts: 1 } : retry;
  const policy = { ...USUAL, ...options, timeoutMs };
  checkAtLeast("retry.attempts", policy.attempts, 1);
  checkAtLeast("retry.baseMs", policy.baseMs, 0);
  checkAtLeast("retry.maxMs", policy.maxMs, 0);
  checkAtLeast("timeoutMs", policy.timeoutMs, 1);
  return policy;
}

/** Refuses what is no number, or too small, by the name of the option. */
export function checkAtLeast(name: string, value: number, least: number): void {
  if (Number.isFinite(value) && value >= least) return;
  throw new TypeError(`${name} must be a number of at least ${least}`);
}
