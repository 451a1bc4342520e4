import { expect } from "vitest";
import type { Cost, Ledger } from "./ledger.ts";

/** A cost that grew with what is compared would be ten times as high, or more. */
export const MOST_GROWTH = 2;

/**
 * The cost of snapshots relative to the events they include: each is written when the log has grown
 * to four times the previous one, and once more at the end of the task.
 */
const MOST_SNAPSHOTS = 2.5;

/** Asserts that no later cost is higher than an earlier one by more than a factor. */
export function expectNoGrowth(later: Cost, earlier: Cost): void {
  const { snapshotBytes: _, ...compared } = later;
  const names = Object.keys(compared) as (keyof typeof compared)[];
  // Half a unit more is the last call of the turn before, and not growth from nothing.
  const grown = names.filter((name) => later[name] > MOST_GROWTH * earlier[name] + 0.5);
  expect(
    grown.map((name) => `${name} went from ${earlier[name]} to ${later[name]}`),
    "what grew",
  ).toEqual([]);
}

/**
 * Snapshots are rare and large, so at each moment they are compared with everything written until
 * then.
 */
export function expectFewSnapshots(ledger: Ledger): void {
  for (const { snapshotBytes, eventBytes } of ledger.totals()) {
    if (snapshotBytes > 0) expect(snapshotBytes / eventBytes).toBeLessThan(MOST_SNAPSHOTS);
  }
}
