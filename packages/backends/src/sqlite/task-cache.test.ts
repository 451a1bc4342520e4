import { expect, test } from "vitest";
import { type KnownTask, TaskCache } from "./task-cache.ts";

test("what was used lately stays, what was not is dropped, and the size is bounded", () => {
  const cache = new TaskCache(10);
  cache.keep("often", aTask(0));
  cache.keep("once", aTask(1));

  for (let n = 2; n < 100; n += 1) {
    cache.keep(`t${n}`, aTask(n));
    expect(cache.get("often")?.n).toBe(0);
  }

  expect(cache.get("once")).toBeUndefined();
  const kept = Array.from({ length: 100 }, (_, n) => cache.get(`t${n}`)).filter(
    (task) => task !== undefined,
  );
  expect(kept.length).toBeLessThanOrEqual(20);
});

test("what was dropped is gone, however lately it was used", () => {
  const cache = new TaskCache(2);
  for (const [n, taskId] of ["old", "young", "youngest"].entries()) cache.keep(taskId, aTask(n));

  cache.drop("old");
  cache.drop("youngest");

  expect(cache.get("old")).toBeUndefined();
  expect(cache.get("youngest")).toBeUndefined();
  expect(cache.get("young")?.n).toBe(1);
});

function aTask(n: number): KnownTask {
  return {
    n,
    owner: "ann",
    epoch: 1,
    state: "working",
    statusAt: 0,
    listed: true,
    head: 0,
    written: 0,
    snapshotSeq: 0,
    wakeAt: null,
  };
}
