import fc from "fast-check";
import { describe, expect, onTestFinished } from "vitest";
import { verifies } from "../verifies.ts";
import { type Disk, aMemoryDisk, aSqliteDisk } from "./a-disk.ts";
import { plans, settings } from "./commands.ts";
import { MODEL_TIMEOUT_MS, type Tally, report, runsOf } from "./runs.ts";
import { Story } from "./story.ts";

/** Unhandled rejections, so that they fail the run that caused them. */
function unhandledRejections(): unknown[] {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  return unhandled;
}

/** A liveness bound for one run: nothing in it waits for long. */
const RUN_TIMEOUT_MS = 20_000;

async function tryOut(take: () => Promise<Disk>, numRuns: number): Promise<Tally> {
  const unhandled = unhandledRejections();
  const tally = { runs: 0, commands: 0 };
  let stories = 0;
  const property = fc.asyncProperty(settings, plans, async (setting, plan) => {
    const story = new Story(await take(), setting, String(stories++).padStart(9, "0"));
    try {
      for (const batch of plan) await story.perform(batch);
      await story.finish();
      expect(unhandled.splice(0)).toEqual([]);
    } finally {
      story.close();
    }
    tally.runs++;
    tally.commands += plan.flat().length;
  });
  await fc.assert(property, { numRuns, timeout: RUN_TIMEOUT_MS });
  return tally;
}

describe("after any operations and crashes of a server, its tasks match their logs", () => {
  verifies(
    ["G1", "G2", "G3", "G4", "G5", "G6", "G7", "G10"],
    "in memory",
    async () => {
      const tally = await tryOut(aMemoryDisk, runsOf(500));

      report("engine model, memory", tally);
      expect(tally.commands).toBeGreaterThan(0);
    },
    MODEL_TIMEOUT_MS,
  );

  verifies(
    ["G2", "G3", "G4", "G5", "G6"],
    "in SQLite, closed and reopened at every crash",
    async () => {
      const disk = await aSqliteDisk();
      onTestFinished(() => disk.close());

      const tally = await tryOut(async () => disk, runsOf(15, { onSqlite: true }));

      report("engine model, SQLite", tally);
      expect(tally.commands).toBeGreaterThan(0);
    },
    MODEL_TIMEOUT_MS,
  );
});
