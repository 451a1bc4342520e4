import type { Progress } from "@modelcontextprotocol/client";

/** Resolves when the agent is counting, for a call that would take a minute. */
export function untilItCounts(): {
  onProgress: (progress: Progress) => void;
  counts: Promise<void>;
} {
  const { promise, resolve } = Promise.withResolvers<void>();
  return {
    onProgress: ({ message = "" }) => {
      if (/\b3\b/.test(message)) resolve();
    },
    counts: promise,
  };
}
