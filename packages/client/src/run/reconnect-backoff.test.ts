import { expect, test } from "vitest";
import { ReconnectBackoff } from "./recovery.ts";

test("the first attempt comes immediately, the next ones with increasing delays of at most 10 s", () => {
  const backoff = new ReconnectBackoff(1e9, () => 0);
  backoff.progressed();

  const delays = Array.from({ length: 12 }, () => backoff.next() ?? 0);

  expect(delays[0]).toBeLessThanOrEqual(100);
  for (const [place, delay] of delays.slice(1).entries()) {
    const most = Math.min(10_000, 200 * 2 ** place);
    expect(delay).toBeGreaterThanOrEqual(most / 2);
    expect(delay).toBeLessThanOrEqual(most);
  }
});

test("it ends after the given time without progress, and progress resets it", () => {
  let now = 0;
  const backoff = new ReconnectBackoff(60_000, () => now);
  backoff.progressed();

  expect(backoff.next()).toBeDefined();
  now = 59_999;
  expect(backoff.next()).toBeDefined();
  now = 60_000;
  expect(backoff.next()).toBeUndefined();
  backoff.progressed();
  expect(backoff.attempts).toBe(0);
  expect(backoff.next()).toBeLessThanOrEqual(100);
});

test("an agent that never responded is given up sooner", () => {
  let now = 0;
  const backoff = new ReconnectBackoff(300_000, () => now);

  backoff.next();
  now = 30_000;

  expect(backoff.next()).toBeUndefined();
});

test("a delay that the agent requests is respected", () => {
  expect(new ReconnectBackoff(60_000, () => 0).next(7000)).toBe(7000);
});
