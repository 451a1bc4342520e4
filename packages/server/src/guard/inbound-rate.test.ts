import { expect, test } from "vitest";
import { createJsonLogger } from "@convoke/engine";
import { InboundRate, checkInboundRate } from "./inbound-rate.ts";

const logger = createJsonLogger("silent", () => undefined);

test("a source may send again as soon as its oldest task is a minute old", async () => {
  let now = 0;
  const rate = new InboundRate({ perMinute: 2 }, { logger, now: () => now });
  await rate.count("ann");
  now = 10_000;
  await rate.count("ann");

  now = 30_000;
  await expect(rate.count("ann")).rejects.toThrow(
    expect.objectContaining({ retryAfterMs: 30_000 }),
  );
  await rate.count("bob");

  now = 60_000;
  await rate.count("ann");
  await expect(rate.count("ann")).rejects.toThrow(
    expect.objectContaining({ retryAfterMs: 10_000 }),
  );
});

test("a limit that is no whole number above 0 is rejected by name", () => {
  for (const perMinute of [0, -1, 1.5, Number.NaN]) {
    expect(() => checkInboundRate({ perMinute })).toThrow(/^inbound\.perMinute must be/);
  }
});
