import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { needs } from "../../../../test/needs.ts";
import { verifies } from "../../../../test/verifies.ts";
import { startChild } from "./start-child.suite.ts";
import { temporaryFolder } from "./temporary-folder.suite.ts";

describe("seen by strace", () => {
  const strace = needs("strace");

  for (const [mode, where] of [
    ["wait", "on the event loop, which waits for the disk,"],
    ["later", "on the event loop, which does not wait for the disk,"],
    ["thread", "in the writer thread"],
  ] as const) {
    verifies("G1", `a commit ${where} is acknowledged after the disk was synced`, async () => {
      const folder = temporaryFolder();
      mkdirSync(folder, { recursive: true });
      const log = join(folder, "trace");
      const tracer = [strace(), "-f", "-qq", "-e", "trace=fdatasync,fsync,write", "-o", log];
      const child = await startChild(join(folder, "data"), ["write", "power", mode], tracer);
      await expect.poll(() => child.lines().length, { timeout: 25_000 }).toBeGreaterThan(60);
      await child.kill();

      const unsynced = acknowledgedWithoutSync(readFileSync(log, "utf8"));

      expect(unsynced).toEqual([]);
    });
  }
});

/** The commits of a task that were acknowledged without a sync since the one before. */
function acknowledgedWithoutSync(trace: string): readonly string[] {
  const unsynced: string[] = [];
  const acknowledgedAt = new Map<string, number>();
  let syncs = 0;
  for (const line of trace.split("\n")) {
    if (/f(?:data)?sync(?:\(| resumed).*= 0/.test(line)) syncs++;
    const [, taskId, head] = /write\(1, "(t\d) (\d+)/.exec(line) ?? [];
    // A full pipe takes nothing, and the same line is written again.
    if (taskId === undefined || line.includes("EAGAIN")) continue;
    if (acknowledgedAt.get(taskId) === syncs) unsynced.push(`${taskId} ${head}`);
    acknowledgedAt.set(taskId, syncs);
  }
  expect(acknowledgedAt.size).toBeGreaterThan(0);
  return unsynced;
}
