import { expect, onTestFinished, test, vi } from "vitest";
import type { TaskIndex, TaskRecord } from "../log/backend.ts";
import { WakeTimer } from "./wake-timer.ts";

test("a task is not woken before its time by the clock, even if the timer fires early", async () => {
  const original = setTimeout;
  const early = vi
    .spyOn(globalThis, "setTimeout")
    .mockImplementation(((callback: () => void, ms: number) =>
      original(callback, ms - 3)) as typeof setTimeout);
  onTestFinished(() => early.mockRestore());
  const wakeAt = Date.now() + 20;
  let records = [{ taskId: "t1", wakeAt } as TaskRecord];
  const woken = Promise.withResolvers<number>();
  const timer = new WakeTimer({
    tasks: { waking: () => Promise.resolve(records) } as Partial<TaskIndex> as TaskIndex,
    now: Date.now,
    isOwn: () => true,
    wake: async () => {
      records = [];
      woken.resolve(Date.now());
    },
    onError: woken.reject,
  });

  timer.schedule(wakeAt);

  expect(await woken.promise).toBeGreaterThanOrEqual(wakeAt);
  timer.close();
});

test("a task is woken after its wait, even if the clock was set back in the meantime", async () => {
  let time = 1_000_000;
  const woken = Promise.withResolvers<number>();
  const timer = new WakeTimer({
    tasks: {
      waking: () => Promise.resolve([{ taskId: "t1", wakeAt: 1_000_020 } as TaskRecord]),
    } as Partial<TaskIndex> as TaskIndex,
    now: () => time,
    isOwn: () => true,
    wake: async (_record, at) => {
      timer.close();
      woken.resolve(at);
    },
    onError: woken.reject,
  });

  timer.schedule(1_000_020);
  time = 500_000;

  expect(await woken.promise).toBe(1_000_020);
});

test("a wake that fails because the storage closes is no error: the next process finds the task due", async () => {
  const errors: unknown[] = [];
  const timer = new WakeTimer({
    tasks: {
      waking: () => Promise.resolve([{ taskId: "t1", wakeAt: 1 } as TaskRecord]),
    } as Partial<TaskIndex> as TaskIndex,
    now: Date.now,
    isOwn: () => true,
    wake: () => {
      if (errors.length > 0) timer.close();
      return Promise.reject(new Error("the backend is closed"));
    },
    onError: (error) => errors.push(error),
  });

  await timer.start();
  await timer.start();

  expect(errors).toHaveLength(1);
});
