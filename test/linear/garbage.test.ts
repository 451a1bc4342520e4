import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

/** About 1 kB is left. If a run or its task survives, it is 8 kB. */
const MOST_BYTES = 4000;

test("what a task has used is collected with the young generation", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--conditions=@convoke/source",
    "--expose-gc",
    fileURLToPath(new URL("./garbage-per-task.ts", import.meta.url)),
  ]);

  expect(Number(stdout)).toBeLessThan(MOST_BYTES);
});
