import { expect } from "vitest";
import type { Cost, Ledger } from "./ledger.ts";

/** A cost that grew with what is compared would be ten times as high, or more. */
export const MOST_GROWTH = 2;

/**
 * What snapshots cost beside the events they fold: each is written when the log has grown by four
 * times the one before, and once more at the end of the task.
 */
const MOST_SNAPSHOTS = 2.5;

/** Expects nothing of the later cost to be higher than it was earlier, but for a factor. */
export function expectNoGrowth(later: Cost, earlier: Cost): void {
  const { snapshotBytes: _, ...compared } = later;
  const names = Object.keys(compared) as (keyof typeof compared)[];
  // Half a thing more is the last call of the turn before, and not growth from nothing.
  const grown = names.filter((name) => later[name] > MOST_GROWTH * earlier[name] + 0.5);
  expect(
    grown.map((name) => `${name} went from ${earlier[name]} to ${later[name]}`),
    "what grew",
  ).toEqual([]);
}

/** Snapshots come seldom and are large, so they are compared at each moment with all that was written until then. */
export function expectFewSnapshots(ledger: Ledger): void {
  for (const { snapshotBytes, eventBytes } of ledger.totals()) {
    if (snapshotBytes > 0) expect(snapshotBytes / eventBytes).toBeLessThan(MOST_SNAPSHOTS);
  }
}
