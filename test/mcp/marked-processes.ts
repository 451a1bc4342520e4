import { randomUUID } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { beforeEach, expect, onTestFinished } from "vitest";

/** Marks the processes that the tests of one file start, including their children. */
export const MARK = randomUUID();

/** The processes with a mark that are still alive. */
export function markedProcesses(mark = MARK): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const isMarked = readFileSync(`/proc/${pid}/environ`, "utf8").includes(`MCP_TEST=${mark}`);
        return isMarked && !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** No test of the file may leave a process behind. */
export function expectNoLeftovers(): void {
  beforeEach(() => {
    // The first registered hook runs last, when everything that the test opened is closed.
    onTestFinished(async () => {
      try {
        await expect.poll(() => markedProcesses(), { timeout: 20_000 }).toEqual([]);
      } finally {
        for (const pid of markedProcesses()) process.kill(pid, "SIGKILL");
      }
    });
  });
}
