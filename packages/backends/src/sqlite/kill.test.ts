import type { StoredEvent } from "@convoke/engine";
import { expect, test } from "vitest";
import { openSqliteBackend } from "./sqlite-backend.ts";
import { startChild } from "./start-child.suite.ts";
import { temporaryFolder } from "./temporary-folder.suite.ts";

test.each([
  ["power", "auto"],
  ["power", "later"],
  ["power", "thread"],
  ["process", "auto"],
] as const)("acknowledged commits survive kill -9 (%s, %s)", async (durability, mode) => {
  const folder = temporaryFolder();
  for (let round = 1; round <= 3; round += 1) {
    const child = await startChild(folder, ["write", durability, mode]);
    await expect.poll(() => child.lines().length, { timeout: 20_000 }).toBeGreaterThan(20 * round);
    await child.kill();
    const acknowledged = lastHeads(child.lines());

    const backend = await openSqliteBackend({ folder });

    expect(acknowledged.size).toBe(3);
    for (const [taskId, head] of acknowledged) {
      const log = await backend.read(taskId, 0, 1_000_000);
      expect(log.length).toBeGreaterThanOrEqual(head);
      // Compared here, because a log can be too long for a matcher of lists.
      const isInPlace = ({ seq, json }: StoredEvent, index: number): boolean =>
        seq === index + 1 && JSON.parse(json).seq === seq;
      expect(log.findIndex((event, index) => !isInPlace(event, index))).toBe(-1);
      expect((await backend.tasks.get(taskId))?.head).toBe(log.length);
    }
    await backend.close();
  }
});

/** The highest head that was printed for each task. */
function lastHeads(lines: readonly string[]): ReadonlyMap<string, number> {
  return new Map(
    lines.map((line) => line.split(" ")).map(([taskId = "", head]) => [taskId, Number(head)]),
  );
}
