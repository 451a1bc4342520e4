import { describe, expect, test } from "vitest";
import { HABITS, check, idsOf, resultOf } from "./run-check.ts";
import { SEEDED_FAULTS } from "./seeded-faults.ts";
import { serveSpoiled } from "./spoiling-proxy.ts";

/** A checker must be able to fail: whoever spoils one thing is found by the probe for that thing. */
describe.each(SEEDED_FAULTS)("over %s", (_, options, faults) => {
  test("nothing is found where nothing is spoiled", async () => {
    const url = await serveSpoiled({}, { token: "a-secret" });
    const only = faults.map(({ id }) => id).join(",");

    const chosen = ["--token", "a-secret", "--only", only];
    const { report } = await check(url, ...chosen, ...options, ...HABITS);

    expect(idsOf(report, "failed")).toEqual([]);
    for (const { id } of faults) expect([id, resultOf(report, id).outcome]).toEqual([id, "passed"]);
  });

  test.each(faults)("$title is found by $id", async ({ id, options: more = [], ...fault }) => {
    const isGuarded = more.includes("--token");
    const url = await serveSpoiled(fault, isGuarded ? { token: "a-secret" } : {});

    const { report } = await check(url, "--only", id, ...options, ...HABITS, ...more);

    const { outcome, sent, received, expected } = resultOf(report, id);
    expect(outcome).toBe("failed");
    for (const told of [sent, received, expected]) expect(told).not.toBe("");
  });
});
