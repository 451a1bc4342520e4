import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { KeepAlive } from "./keep-alive.ts";

const INTERVAL_MS = 3000;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

verifies("R41", "an idle stream sends a keep-alive once per interval", () => {
  const speak = vi.fn();
  const silence = new KeepAlive(INTERVAL_MS).start({ onIdle: speak });

  vi.advanceTimersByTime(INTERVAL_MS - 1);
  expect(speak).not.toHaveBeenCalled();

  vi.advanceTimersByTime(1);
  expect(speak).toHaveBeenCalledTimes(1);

  vi.advanceTimersByTime(3 * INTERVAL_MS);
  expect(speak).toHaveBeenCalledTimes(4);
  silence.stop();
});

verifies("R41", "the interval is 15 seconds by default", () => {
  const speak = vi.fn();
  const silence = new KeepAlive().start({ onIdle: speak });

  vi.advanceTimersByTime(14_999);
  expect(speak).not.toHaveBeenCalled();

  vi.advanceTimersByTime(1);
  expect(speak).toHaveBeenCalledTimes(1);
  silence.stop();
});

test("a stream that is written to sends no keep-alive", () => {
  const speak = vi.fn();
  const silence = new KeepAlive(INTERVAL_MS).start({ onIdle: speak });

  for (let write = 0; write < 20; write++) {
    vi.advanceTimersByTime(INTERVAL_MS / 2);
    silence.reset();
  }
  expect(speak).not.toHaveBeenCalled();

  vi.advanceTimersByTime(INTERVAL_MS);
  expect(speak).toHaveBeenCalledTimes(1);
  silence.stop();
});

test("a write in one stream does not delay the keep-alive of another", () => {
  const keepAlive = new KeepAlive(INTERVAL_MS);
  const busy = vi.fn();
  const quiet = vi.fn();
  const silence = keepAlive.start({ onIdle: busy });
  keepAlive.start({ onIdle: quiet });

  for (let write = 0; write < 4; write++) {
    vi.advanceTimersByTime(INTERVAL_MS / 2);
    silence.reset();
  }

  expect(busy).not.toHaveBeenCalled();
  expect(quiet).toHaveBeenCalledTimes(2);
  keepAlive.close();
});

describe("the timer", () => {
  test("is shared by all streams", () => {
    const keepAlive = new KeepAlive(INTERVAL_MS);
    expect(vi.getTimerCount()).toBe(0);

    for (let stream = 0; stream < 100; stream++) keepAlive.start({ onIdle: () => undefined });

    expect(vi.getTimerCount()).toBe(1);
    keepAlive.close();
  });

  test("stops with the last stream, and restarts with the next", () => {
    const keepAlive = new KeepAlive(INTERVAL_MS);
    const first = keepAlive.start({ onIdle: () => undefined });
    const second = keepAlive.start({ onIdle: () => undefined });

    first.stop();
    expect(vi.getTimerCount()).toBe(1);

    second.stop();
    second.stop();
    expect(vi.getTimerCount()).toBe(0);

    const speak = vi.fn();
    keepAlive.start({ onIdle: speak });
    vi.advanceTimersByTime(INTERVAL_MS);
    expect(speak).toHaveBeenCalledTimes(1);
    keepAlive.close();
  });

  test("calls no stream that has ended, not even in the tick in which it ends", () => {
    const keepAlive = new KeepAlive(INTERVAL_MS);
    const speak = vi.fn();
    keepAlive.start({ onIdle: () => second.stop() });
    const second = keepAlive.start({ onIdle: speak });

    vi.advanceTimersByTime(10 * INTERVAL_MS);

    expect(speak).not.toHaveBeenCalled();
    keepAlive.close();
  });

  test("survives a stream that cannot be written to, and skips it", () => {
    const keepAlive = new KeepAlive(INTERVAL_MS);
    const broken = vi.fn(() => {
      throw new Error("the stream is gone");
    });
    const speak = vi.fn();
    keepAlive.start({ onIdle: broken });
    keepAlive.start({ onIdle: speak });

    vi.advanceTimersByTime(3 * INTERVAL_MS);

    expect(broken).toHaveBeenCalledTimes(1);
    expect(speak).toHaveBeenCalledTimes(3);
    keepAlive.close();
  });

  test("ends when it is closed", () => {
    const keepAlive = new KeepAlive(INTERVAL_MS);
    const speak = vi.fn();
    keepAlive.start({ onIdle: speak });

    keepAlive.close();
    vi.advanceTimersByTime(10 * INTERVAL_MS);

    expect(speak).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });
});

verifies("loop-L6", "does not exist if keep-alives are disabled, and nothing is sent", () => {
  let said = 0;
  const silence = new KeepAlive(0).start({ onIdle: () => said++ });

  vi.advanceTimersByTime(60_000);

  expect(said).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
  silence.stop();
});

test.each([-1, Number.NaN, 2 ** 31, Number.POSITIVE_INFINITY])("%s is not an interval", (ms) => {
  expect(() => new KeepAlive(ms)).toThrow("keepAliveMs must be from 0");
});
