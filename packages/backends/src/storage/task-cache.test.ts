import { expect, test } from "vitest";
import { TaskCache } from "./task-cache.ts";

test("recently used entries stay, others are dropped, and the size is bounded", () => {
  const cache = new TaskCache<number>(10);
  cache.keep("often", 0);
  cache.keep("once", 1);

  for (let n = 2; n < 100; n += 1) {
    cache.keep(`t${n}`, n);
    expect(cache.get("often")).toBe(0);
  }

  expect(cache.get("once")).toBeUndefined();
  const kept = Array.from({ length: 100 }, (_, n) => cache.get(`t${n}`)).filter(
    (task) => task !== undefined,
  );
  expect(kept.length).toBeLessThanOrEqual(20);
});

test("a dropped entry is gone, however recently it was used", () => {
  const cache = new TaskCache<number>(2);
  for (const [n, taskId] of ["old", "young", "youngest"].entries()) cache.keep(taskId, n);

  cache.drop("old");
  cache.drop("youngest");

  expect(cache.get("old")).toBeUndefined();
  expect(cache.get("youngest")).toBeUndefined();
  expect(cache.get("young")).toBe(1);
});
