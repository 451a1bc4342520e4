import { vi } from "vitest";

/** Looks again and again until it is so. The time is a bound for slow machines, and no promise. */
export function eventually(check: () => unknown): Promise<unknown> {
  return vi.waitFor(check, { timeout: 10_000, interval: 20 });
}
