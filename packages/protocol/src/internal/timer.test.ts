import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { MAX_TIMER_MS, startTimer } from "./timer.ts";

const DAY_MS = 24 * 3_600_000;

describe("a timer", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test.each([1, MAX_TIMER_MS, MAX_TIMER_MS + 1, 100 * DAY_MS])(
    "of %d ms fires then, once, and not earlier",
    (ms) => {
      const fire = vi.fn();
      startTimer(ms, fire);

      vi.advanceTimersByTime(ms - 1);
      expect(fire).not.toHaveBeenCalled();

      vi.advanceTimersByTime(1 + 30 * DAY_MS);
      expect(fire).toHaveBeenCalledOnce();
    },
  );

  test("that is stopped does not fire, in any stage", () => {
    const fire = vi.fn();
    const stop = startTimer(40 * DAY_MS, fire, { unref: true });

    vi.advanceTimersByTime(30 * DAY_MS);
    stop();
    vi.advanceTimersByTime(30 * DAY_MS);

    expect(fire).not.toHaveBeenCalled();
  });

  test("without an end never fires", () => {
    const fire = vi.fn();
    const stop = startTimer(Number.POSITIVE_INFINITY, fire);

    vi.advanceTimersByTime(1000 * DAY_MS);
    stop();

    expect(fire).not.toHaveBeenCalled();
  });
});
