import { expect, test } from "vitest";
import { orAborted, sleep } from "./abort.ts";

test("work that finishes first wins over the signal", async () => {
  const abort = new AbortController();

  const result = orAborted(Promise.resolve("done"), abort.signal);

  expect(await result).toBe("done");
  abort.abort();
});

test("a caller whose signal fires gets its reason, while the work continues", async () => {
  const abort = new AbortController();
  const work = Promise.withResolvers<string>();

  const left = orAborted(work.promise, abort.signal);
  abort.abort(new Error("gone"));

  await expect(left).rejects.toThrow("gone");
  work.resolve("late");
  expect(await work.promise).toBe("late");
});

test("a signal that has already fired rejects immediately, and late failures crash nothing", async () => {
  const work = Promise.withResolvers<never>();

  const left = orAborted(work.promise, AbortSignal.abort(new Error("gone")));

  await expect(left).rejects.toThrow("gone");
  work.reject(new Error("unobserved"));
});

test("a wait ends early if its signal fires, before and during the wait", async () => {
  const abort = new AbortController();
  const waiting = sleep(60_000, abort.signal);
  abort.abort(new Error("stop"));

  await expect(waiting).rejects.toThrow("stop");
  await expect(sleep(60_000, abort.signal)).rejects.toThrow("stop");
});
