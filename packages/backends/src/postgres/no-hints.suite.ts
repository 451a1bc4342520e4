import type { Bus } from "../storage/bus.ts";

/** A bus for processes that look by themselves only. */
export function noHints(): Bus {
  return {
    isWorking: false,
    maxEventBytes: 0,
    publish: () => {},
    subscribe: () => {},
    follow: () => () => {},
    close: async () => {},
  };
}
