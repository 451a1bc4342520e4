import { openSqliteBackend } from "@convoke/backends/sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { fillStore } from "../../packages/backends/src/transfer/a-store.suite.ts";
import { recordsIn } from "../../packages/backends/src/transfer/records-in.suite.ts";
import { needsPostgres } from "../harness/postgres.ts";
import { randomFrom } from "../harness/random.ts";
import { ScriptProcess } from "../harness/script-process.ts";

const TASKS = Number(process.env["CONVOKE_MOVE_TASKS"] ?? 60);
const KILLS = Number(process.env["CONVOKE_MOVE_KILLS"] ?? 1);

/** A move writes about this many batches, however many tasks there are, and compares as many. */
const BATCHES = 18;

/** Of the tasks of `fillStore`. */
const RECORDS_PER_TASK = 6;

const address = needsPostgres();

/** Moves tasks with a process that is killed a few times, and then with one that may finish. */
async function moveWithKills(from: string, to: string, random: () => number): Promise<void> {
  const env = {
    MOVE_FROM: from,
    MOVE_TO: to,
    MOVE_BATCH: String(Math.ceil((TASKS * RECORDS_PER_TASK) / BATCHES)),
  };
  const script = new URL("migrate-process.ts", import.meta.url);
  const start = (): ScriptProcess => new ScriptProcess(script, env);
  for (let kill = 0; kill < KILLS; kill += 1) {
    const moving = start();
    const lines = Math.floor(random() * 2 * BATCHES);
    await Promise.race([
      moving.until((stdout) => (stdout.split("\n").length > lines ? true : undefined)),
      moving.ended,
    ]);
    await moving.kill();
  }
  const { stdout, stderr } = await start().ended;
  // The one that was killed last may have finished before.
  expect(stdout + stderr).toMatch(/moved \d+|was moved already/);
}

test(
  "a move that is killed at random, to a database and back, ends with the same records",
  { timeout: 60_000 + KILLS * 20_000 + TASKS * 100 },
  async () => {
    const root = mkdtempSync(join(tmpdir(), "convoke-move-"));
    onTestFinished(() => rmSync(root, { recursive: true, force: true }));
    const folder = join(root, "folder");
    const backend = await openSqliteBackend({ folder, durability: "process" });
    await fillStore(backend, TASKS);
    await backend.close();
    const records = await recordsIn(folder);
    const url = await address();
    const random = randomFrom(Number(process.env["CONVOKE_MOVE_SEED"] ?? 1));

    await moveWithKills(folder, url, random);
    expect(await recordsIn(url)).toEqual(records);

    const back = join(root, "back");
    await moveWithKills(url, back, random);
    expect(await recordsIn(back)).toEqual(records);
  },
);
