import { sleep } from "../run/sleep.ts";

/** The time, as far as it matters here. Tests bring one that they turn by hand. */
export interface Clock {
  /** Milliseconds since any fixed moment. */
  now(): number;
  /** Waits; rejects with the signal's reason when it aborts meanwhile. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const SYSTEM_CLOCK: Clock = { now: () => Date.now(), sleep };
