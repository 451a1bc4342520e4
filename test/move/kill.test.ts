import { openPostgresBackend } from "@convoke/backends/postgres";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { fillStore } from "../../packages/backends/src/transfer/a-store.suite.ts";
import { contentOf } from "../../packages/backends/src/transfer/content-of.suite.ts";
import { needsPostgres } from "../harness/postgres.ts";
import { randomFrom } from "../harness/random.ts";
import { ScriptProcess } from "../harness/script-process.ts";

const TASKS = Number(process.env["CONVOKE_MOVE_TASKS"] ?? 60);
const KILLS = Number(process.env["CONVOKE_MOVE_KILLS"] ?? 2);

/** The tables that a move fills. Each is reported at least once, and large ones more often. */
const TABLES = 6;
const ROWS_PER_REPORT = 1000;

const address = needsPostgres();

/** Moves tasks with a process that is killed a few times, and then with one that may finish. */
async function moveWithKills(from: string, to: string, random: () => number): Promise<void> {
  const script = new URL("migrate-process.ts", import.meta.url);
  const start = (): ScriptProcess => new ScriptProcess(script, { MOVE_FROM: from, MOVE_TO: to });
  const reports = TABLES + (5 * TASKS) / ROWS_PER_REPORT;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const moving = start();
    const lines = 1 + Math.floor(random() * reports);
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
  "a move to a database that is killed at random ends with the same content",
  { timeout: 60_000 + KILLS * 20_000 + TASKS * 100 },
  async () => {
    const root = mkdtempSync(join(tmpdir(), "convoke-move-"));
    onTestFinished(() => rmSync(root, { recursive: true, force: true }));
    const folder = join(root, "folder");
    const backend = await openSqliteBackend({ folder, durability: "process" });
    await fillStore(backend, TASKS);
    const content = await contentOf(backend);
    await backend.close();
    const url = await address();

    await moveWithKills(folder, url, randomFrom(Number(process.env["CONVOKE_MOVE_SEED"] ?? 1)));

    const moved = await openPostgresBackend({ url });
    expect(await contentOf(moved)).toEqual(content);
    await moved.close();
  },
);
