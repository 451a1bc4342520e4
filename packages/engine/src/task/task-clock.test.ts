import { expect, test } from "vitest";
import { TaskClock } from "./task-clock.ts";

test("what is written after an instant has a later time, also within one millisecond", () => {
  const clock = new TaskClock(() => 1000);
  const before = clock.now();

  const at = clock.instant();

  expect(before).toBe(1000);
  expect(at).toBe(1000);
  expect(clock.now()).toBe(1001);
  expect(clock.instant()).toBe(1001);
});

test("instants alone do not run ahead of the clock", () => {
  const clock = new TaskClock(() => 1000);

  for (let count = 0; count < 10; count++) clock.instant();

  expect(clock.instant()).toBe(1000);
});

test("after the clock is set back, times are still later than every instant", () => {
  let time = 5000;
  const clock = new TaskClock(() => time);
  const at = clock.instant();

  time = 100;

  expect(clock.now()).toBeGreaterThan(at);
});

test("a task with a chosen id shares its creation time with no other", () => {
  const clock = new TaskClock(() => 1000);

  const created = [false, false, true, true, false, false].map((hasChosenId) =>
    clock.creation({ hasChosenId }),
  );

  expect(created).toEqual([1000, 1000, 1001, 1002, 1003, 1003]);
});

test("a clock that is set back a little does not reorder tasks; a corrected one is used", () => {
  let time = 1_000_000;
  const clock = new TaskClock(() => time);
  clock.creation({ hasChosenId: false });

  time -= 30_000;
  expect(clock.creation({ hasChosenId: false })).toBe(1_000_000);
  time -= 60_000;
  expect(clock.creation({ hasChosenId: false })).toBe(910_000);
});
