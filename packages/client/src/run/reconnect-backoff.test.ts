import { expect, test } from "vitest";
import { ReconnectBackoff } from "./recovery.ts";

test("the first attempt comes at once, the next ones later and later, and never later than 10 s", () => {
  const patience = new ReconnectBackoff(1e9, () => 0);
  patience.progressed();

  const delays = Array.from({ length: 12 }, () => patience.next() ?? 0);

  expect(delays[0]).toBeLessThanOrEqual(100);
  for (const [place, delay] of delays.slice(1).entries()) {
    const most = Math.min(10_000, 200 * 2 ** place);
    expect(delay).toBeGreaterThanOrEqual(most / 2);
    expect(delay).toBeLessThanOrEqual(most);
  }
});

test("it ends after the given time without progress, and progress begins it anew", () => {
  let now = 0;
  const patience = new ReconnectBackoff(60_000, () => now);
  patience.progressed();

  expect(patience.next()).toBeDefined();
  now = 59_999;
  expect(patience.next()).toBeDefined();
  now = 60_000;
  expect(patience.next()).toBeUndefined();
  patience.progressed();
  expect(patience.attempts).toBe(0);
  expect(patience.next()).toBeLessThanOrEqual(100);
});

test("an agent that never answered is given up sooner", () => {
  let now = 0;
  const patience = new ReconnectBackoff(300_000, () => now);

  patience.next();
  now = 30_000;

  expect(patience.next()).toBeUndefined();
});

test("what the agent asks for is waited for", () => {
  expect(new ReconnectBackoff(60_000, () => 0).next(7000)).toBe(7000);
});
