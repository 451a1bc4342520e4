import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HABITS, check, idsOf, resultOf } from "./run-check.ts";
import { SEEDED_FAULTS } from "./seeded-faults.ts";
import { type Spoiler, startSpoiler } from "./spoiling-proxy.ts";

/** A checker must be able to fail: each fault is found by its probe. */
describe.each(SEEDED_FAULTS)("over $where", ({ options, server = {}, faults }) => {
  let spoiler: Spoiler;
  beforeAll(async () => {
    spoiler = await startSpoiler(server);
  });
  afterAll(() => spoiler.close());

  test("nothing is found without a fault", async () => {
    const only = faults.map(({ id }) => id).join(",");

    const { report } = await check(spoiler.spoil({}), "--only", only, ...options, ...HABITS);

    expect(idsOf(report, "failed")).toEqual([]);
    for (const { id } of faults) expect([id, resultOf(report, id).outcome]).toEqual([id, "passed"]);
  });

  test.each(faults)("$title is found by $id", async ({ id, options: more = [], ...fault }) => {
    const url = spoiler.spoil(fault);

    const { report } = await check(url, "--only", id, ...options, ...HABITS, ...more);

    const { outcome, sent, received, expected } = resultOf(report, id);
    expect(outcome).toBe("failed");
    for (const told of [sent, received, expected]) expect(told).not.toBe("");
  });
});
