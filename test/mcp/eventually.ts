import { vi } from "vitest";

/** Polls until the condition is true. The time is a bound for slow machines, not a guarantee. */
export function eventually(check: () => unknown): Promise<unknown> {
  return vi.waitFor(check, { timeout: 20_000, interval: 20 });
}
