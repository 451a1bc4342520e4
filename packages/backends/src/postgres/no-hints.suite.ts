import type { Bus } from "./hints.ts";

/** A bus for processes that look by themselves only. */
export function noHints(): Bus {
  return {
    isWorking: false,
    publish: () => {},
    subscribe: () => {},
    close: async () => {},
  };
}
