import { expect, test } from "vitest";
import { backoffMs } from "./abort.ts";

test("waits double up to the maximum, and half of each is randomized", () => {
  const options = { firstMs: 100, longestMs: 1000 };
  const shortest = [1, 2, 3, 4, 5, 99].map((n) => backoffMs(n, { ...options, fraction: 0 }));
  const longest = [1, 2, 3, 4, 5, 99].map((n) => backoffMs(n, { ...options, fraction: 1 }));

  expect(shortest).toEqual([50, 100, 200, 400, 500, 500]);
  expect(longest).toEqual([100, 200, 400, 800, 1000, 1000]);
});
