import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { withDeadline } from "../create-egress.ts";

function runningTimers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
}

test("finished work leaves neither a timer nor a listener behind", async () => {
  const { signal } = new AbortController();
  const before = runningTimers();
  const options = { host: "hooks.test", timeoutMs: 60_000, signal };

  const result = await withDeadline(options, () => Promise.resolve("done"));
  await expect(withDeadline(options, () => Promise.reject(new Error("no")))).rejects.toThrow("no");

  expect(result).toBe("done");
  expect(runningTimers()).toBe(before);
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

test("work is aborted at its deadline", async () => {
  const seen: unknown[] = [];

  const work = withDeadline({ host: "hooks.test", timeoutMs: 20 }, async (signal) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    seen.push(signal.reason);
  });

  await expect(work).rejects.toMatchObject({
    reason: "timeout",
    message: '"hooks.test" did not answer within 20 milliseconds',
  });
  expect(seen).toMatchObject([{ reason: "timeout" }]);
});
