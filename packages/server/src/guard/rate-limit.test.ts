import { expect, test } from "vitest";
import { MemoryRateLimits, parseRateLimits } from "./rate-limit.ts";

const RATE = { limit: 10, windowMs: 1000 };

test("buckets that nobody has used for their window are dropped", () => {
  const store = new MemoryRateLimits();
  for (let index = 0; index < 1000; index++) store.take(`k${index}`, RATE, { cost: 1, now: 0 });
  expect(store.size).toBe(1000);

  for (let now = 500; now <= 3000; now += 500) store.take("used", RATE, { cost: 1, now });

  // The one that is used, now and before.
  expect(store.size).toBe(2);
});

test("an address per request does not exhaust the memory", () => {
  const store = new MemoryRateLimits();

  for (let index = 0; index < 350_000; index++) store.take(`k${index}`, RATE, { cost: 1, now: 1 });

  expect(store.size).toBeLessThanOrEqual(200_000);
});

test("a bucket that was only looked at takes no memory", () => {
  const store = new MemoryRateLimits();

  expect(store.take("k", RATE, { cost: 0, now: 1 })).toEqual({ isAllowed: true, tokens: 10 });
  expect(store.size).toBe(0);
});

test("a clock that is set back gives no tokens and takes none", () => {
  const store = new MemoryRateLimits();
  const take = (now: number) => store.take("k", RATE, { cost: 1, now }).tokens;

  expect([take(5000), take(1000), take(1000), take(1100)]).toEqual([9, 8, 7, 7]);
});

test("rates are written as a number in a time, and off is no limit", () => {
  expect(parseRateLimits(" write=100/min, read = 20/s,login=off,")).toEqual({
    write: { limit: 100, windowMs: 60_000 },
    read: { limit: 20, windowMs: 1000 },
    login: false,
  });
  expect(parseRateLimits("")).toEqual({});
  expect(parseRateLimits("off")).toBe(false);
});

test.each(["write", "write=", "write=0/s", "write=1/day", "writes=1/s", "write=1", "toString=1/s"])(
  "%s is no rate",
  (text) => {
    expect(() => parseRateLimits(text)).toThrow(
      `${JSON.stringify(text)} is not a rate such as write=100/min, read=20/s or login=off; the classes are read, write, stream, login`,
    );
  },
);
