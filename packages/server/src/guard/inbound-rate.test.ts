import { expect, test } from "vitest";
import { InboundRate } from "./inbound-rate.ts";

test("a source may send again as soon as its oldest task is a minute old", () => {
  let now = 0;
  const rate = new InboundRate({ perMinute: 2 }, () => now);
  rate.count("ann");
  now = 10_000;
  rate.count("ann");

  now = 30_000;
  expect(() => rate.count("ann")).toThrow(expect.objectContaining({ retryAfterMs: 30_000 }));
  expect(() => rate.count("bob")).not.toThrow();

  now = 60_000;
  rate.count("ann");
  expect(() => rate.count("ann")).toThrow(expect.objectContaining({ retryAfterMs: 10_000 }));
});

test("a limit that is no whole number above 0 is rejected by name", () => {
  for (const perMinute of [0, -1, 1.5, Number.NaN]) {
    expect(() => new InboundRate({ perMinute })).toThrow(/^inbound\.perMinute must be/);
  }
});
