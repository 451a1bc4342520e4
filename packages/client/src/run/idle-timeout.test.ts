import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { IdleTimeout } from "./idle-timeout.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function aSilence(isDead: () => boolean = () => false) {
  const deaths: number[] = [];
  const asked = vi.fn(async () => isDead());
  const silence = new IdleTimeout({
    idleTimeoutMs: 45_000,
    onDead: (silentMs) => deaths.push(Math.round(silentMs / 1000)),
    isDead: asked,
  });
  return { silence, deaths, asked };
}

test("three missing keep-alives mean that the stream is dead", async () => {
  const { silence, deaths, asked } = aSilence();
  silence.startWaiting();
  for (let count = 0; count < 4; count++) {
    await vi.advanceTimersByTimeAsync(20_000);
    silence.received("alive");
    silence.startWaiting();
  }

  await vi.advanceTimersByTimeAsync(59_000);
  expect(deaths).toEqual([]);
  await vi.advanceTimersByTimeAsync(2000);

  expect(deaths).toEqual([60]);
  expect(asked).not.toHaveBeenCalled();
});

test("no pause shorter than the limit counts, however often keep-alives come", async () => {
  const { silence, deaths } = aSilence();
  silence.startWaiting();
  await vi.advanceTimersByTimeAsync(2000);
  silence.received("alive");
  silence.startWaiting();

  await vi.advanceTimersByTimeAsync(44_000);
  expect(deaths).toEqual([]);
  await vi.advanceTimersByTimeAsync(60_000);

  expect(deaths).toEqual([45]);
});

test("a limit beyond what a timer can measure does not expire immediately", async () => {
  const asked = vi.fn(async () => false);
  const silence = new IdleTimeout({
    idleTimeoutMs: Infinity,
    onDead: () => undefined,
    isDead: asked,
  });
  silence.startWaiting();

  await vi.advanceTimersByTimeAsync(60_000);

  expect(asked).not.toHaveBeenCalled();
  expect(vi.getTimerCount()).toBe(1);
  silence.stop();
});

test("chunks of a long event are not keep-alives", async () => {
  const { silence, asked, deaths } = aSilence();
  silence.startWaiting();
  await vi.advanceTimersByTimeAsync(10);
  silence.received("alive");
  silence.startWaiting();

  await vi.advanceTimersByTimeAsync(61_000);

  expect(asked).toHaveBeenCalledTimes(1);
  expect(deaths).toEqual([]);
});

test("without keep-alives the task is checked every minute, until it has changed", async () => {
  let isDead = false;
  const { silence, asked, deaths } = aSilence(() => isDead);
  silence.startWaiting();

  await vi.advanceTimersByTimeAsync(179_000);
  expect(asked).toHaveBeenCalledTimes(2);
  isDead = true;
  await vi.advanceTimersByTimeAsync(2000);

  expect(deaths).toHaveLength(1);
});

test("time in which nothing is read does not count", async () => {
  const { silence, asked } = aSilence();
  silence.startWaiting();
  await vi.advanceTimersByTimeAsync(1000);
  silence.received("event");

  await vi.advanceTimersByTimeAsync(600_000);

  expect(asked).not.toHaveBeenCalled();
  silence.stop();
  expect(vi.getTimerCount()).toBe(0);
});
