import { expect, test } from "vitest";
import { retryWaitMs } from "./backoff.ts";

const facts = { firstWaitMs: 500, seed: "t1:1", retryAfterMs: undefined };

test("the delay doubles, is randomized by the task, and is the same each time it is computed", () => {
  for (const [failures, longest] of [
    [1, 500],
    [2, 1000],
    [3, 2000],
    [20, 30_000],
  ] as const) {
    const waitMs = retryWaitMs(failures, facts);
    expect(waitMs).toBeGreaterThanOrEqual(longest / 2);
    expect(waitMs).toBeLessThanOrEqual(longest);
    expect(retryWaitMs(failures, facts)).toBe(waitMs);
  }
  const waits = new Set(
    Array.from({ length: 20 }, (_, n) => retryWaitMs(1, { ...facts, seed: `t${n}` })),
  );
  expect(waits.size).toBeGreaterThan(10);
});

test("a retry time from the provider is respected", () => {
  expect(retryWaitMs(1, { ...facts, retryAfterMs: 5000 })).toBe(5000);
});
