import { expect, test } from "vitest";
import { linesOf } from "./chart-lines.ts";

test("a chart ends at its right edge, and has gaps where nothing happened", () => {
  expect(linesOf([0, 2, undefined, 1], 2)).toEqual(["57,54 58,4", "59,29 60,29"]);
});

test("a chart of zeros lies on its ground", () => {
  expect(linesOf([0, 0], 0)).toEqual(["59,54 60,54"]);
});
