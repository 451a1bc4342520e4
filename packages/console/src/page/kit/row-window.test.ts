import { expect, test } from "vitest";
import { windowOf } from "./row-window.ts";

const VIEW = { rowHeight: 36, height: 600 };

test("a short list has its visible rows and some around them", () => {
  const shown = windowOf({ ...VIEW, count: 1000, top: 3600 });

  expect(shown).toMatchObject({ start: 94, end: 123, offset: 94 * 36, totalHeight: 36_000 });
});

test("the end of a million rows can be reached, although no browser has elements of that height", () => {
  const count = 1_000_000;
  const { totalHeight } = windowOf({ ...VIEW, count, top: 0 });
  const end = windowOf({ ...VIEW, count, top: totalHeight - VIEW.height });

  expect(totalHeight).toBeLessThan(10_000_000);
  expect(end.end).toBe(count);
  expect(end.end - end.start).toBeLessThan(40);
  // The last row ends where the list does.
  expect(end.offset + (end.end - end.start) * VIEW.rowHeight).toBeCloseTo(totalHeight);
});

test("a list scrolls to a row that is not visible, and not to one that is", () => {
  const count = 1_000_000;
  const top = windowOf({ ...VIEW, count, top: 0 }).scrollTopFor(500_000)!;
  const shown = windowOf({ ...VIEW, count, top });

  expect(shown.start).toBeLessThan(500_000);
  expect(shown.end).toBeGreaterThan(500_000);
  expect(shown.scrollTopFor(500_000)).toBeUndefined();
});
