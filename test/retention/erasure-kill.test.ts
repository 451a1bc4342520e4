import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPostgresBackend } from "@convoke/backends/postgres";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { runCli } from "../../apps/convoke/src/cli/testing/run-cli.suite.ts";
import { Connection, toAddress } from "../../packages/backends/src/postgres/connection.ts";
import { contentOf } from "../../packages/backends/src/transfer/content-of.suite.ts";
import { needsPostgres } from "../harness/postgres.ts";
import { randomFrom } from "../harness/random.ts";
import { ScriptProcess } from "../harness/script-process.ts";
import { type Place, fileTask, filesIn, filesWith, startFiler } from "./erasing-store.ts";

// The short form; `npm run test:erasure` runs the full size.
const TASKS = Number(process.env["CONVOKE_ERASURE_TASKS"] ?? 6);
const KILLS = Number(process.env["CONVOKE_ERASURE_KILLS"] ?? 2);
const ROUNDS = Number(process.env["CONVOKE_ERASURE_ROUNDS"] ?? 1);
const SEED = Number(process.env["CONVOKE_ERASURE_SEED"] ?? Date.now() % 1_000_000);

/** How many steps the erasure of so many tasks has: files twice for each task, and a few more. */
const STEPS = 2 * TASKS + 4;

const address = needsPostgres();

test.each(["a data folder", "a database"])(
  "an erasure in %s that is killed again and again leaves nothing of its owner, and all of others",
  { timeout: 60_000 + ROUNDS * (KILLS * 20_000 + TASKS * 1000) },
  async (kind) => {
    const random = randomFrom(SEED);
    for (let round = 0; round < ROUNDS; round++) {
      const folder = mkdtempSync(join(tmpdir(), "convoke-erasure-"));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      const database = kind === "a database" ? await address() : undefined;
      await eraseWithKills({ folder, database }, random);
    }
  },
);

async function eraseWithKills(place: Place, random: () => number): Promise<void> {
  const kept = await fill(place);
  const before = await recordsOf(place, kept);
  expect(await traces(place, "ann-the-owner")).not.toEqual([]);
  expect(await traces(place, "needle-ann")).not.toEqual([]);
  const data = place.database ?? place.folder;
  const erase = (...args: readonly string[]) => runCli(["erase", "--data", data, ...args, "--yes"]);
  expect((await erase("--owner", "ann-the-owner")).code).toBe(0);
  expect((await erase("--owner", "bob-the-owner", "--context", "bob-old")).code).toBe(0);

  const ends: (NodeJS.Signals | null)[] = [];
  for (let kill = 0; kill < KILLS && !ends.includes(null); kill++) {
    const dieAt = 1 + Math.floor(random() * STEPS);
    const dieMs = random() < 0.5 ? 0 : Math.ceil(random() * 5);
    ends.push(await run(place, { DIE_AT: String(dieAt), DIE_MS: String(dieMs) }));
  }
  expect(await run(place)).toBe(null);

  const problem = `seed ${SEED}`;
  expect(ends[0], problem).toBe("SIGKILL");
  for (const text of ["ann-the-owner", "needle-ann", "needle-bob-old"]) {
    expect(await traces(place, text), problem).toEqual([]);
  }
  expect(readdirSync(filesIn(place)).toSorted(), problem).toEqual([...kept].toSorted());
  expect(await recordsOf(place, kept), problem).toEqual(before);
}

/** Stores tasks of three owners. Resolves to those that stay. */
async function fill(place: Place): Promise<ReadonlySet<string>> {
  const filer = await startFiler(place);
  const file = (owner: string, context: string, text: string): Promise<string> =>
    fileTask(filer, { owner, contextId: context, text: `needle-${text}` });
  const kept = new Set<string>();
  for (let index = 0; index < TASKS; index++) {
    await file("ann-the-owner", `ann-${index % 3}`, `ann-${index} ${index % 4 === 3 ? "ask" : ""}`);
    if (index % 3 === 0) await file("bob-the-owner", "bob-old", `bob-old-${index}`);
    if (index % 3 === 1) kept.add(await file("bob-the-owner", "bob-new", `bob-new-${index}`));
    if (index % 3 === 2) kept.add(await file("cay", "cay-1", `cay-${index} ask`));
  }
  await filer.close();
  return kept;
}

/** Runs the process to its end, or until it has erased everything. Resolves to the signal that ended it, if one did. */
async function run(
  { folder, database }: Place,
  env: Readonly<Record<string, string>> = {},
): Promise<NodeJS.Signals | null> {
  const started = new ScriptProcess(new URL("erasing-process.ts", import.meta.url), {
    STORE_FOLDER: folder,
    ...(database !== undefined && { STORE_DATABASE: database }),
    ...env,
  });
  const erased = started.until((stdout) => (stdout.includes("erased") ? true : undefined));
  const isErased = await Promise.race([erased, started.ended.then(() => false)]);
  const { signal, stderr } = await started.kill();
  expect(stderr).toBe("");
  return isErased ? null : signal;
}

/** What is stored about these tasks, except how far the delivery of notifications is. */
async function recordsOf(
  { folder, database }: Place,
  taskIds: ReadonlySet<string>,
): Promise<readonly unknown[]> {
  const backend = await (database === undefined
    ? openSqliteBackend({ folder })
    : openPostgresBackend({ url: database }));
  const contents = await contentOf(backend);
  await backend.close();
  return contents
    .filter(({ stored }) => taskIds.has(stored?.taskId ?? ""))
    .map(({ pushes, ...content }) => ({ ...content, pushes: pushes.map(({ config }) => config) }));
}

/** Where a text is found: names of files, and tables of the database. */
async function traces({ folder, database }: Place, text: string): Promise<readonly string[]> {
  const files = filesWith(folder, text);
  return database === undefined ? files : [...files, ...(await tablesWith(database, text))];
}

async function tablesWith(database: string, text: string): Promise<readonly string[]> {
  const { schema } = toAddress(database);
  const connection = new Connection(toAddress(database));
  try {
    const tables = await connection.rows(
      "SELECT tablename::text FROM pg_tables WHERE schemaname = $1",
      [schema],
    );
    const found: string[] = [];
    // Bytes are shown as hexadecimal digits.
    const forms = [text, Buffer.from(text).toString("hex")];
    for (const [table] of tables as readonly (readonly [string])[]) {
      const rows = await connection.rows(`SELECT t::text FROM "${schema}"."${table}" t`);
      if (rows.some(([row]) => forms.some((form) => String(row).includes(form)))) found.push(table);
    }
    return found;
  } finally {
    await connection.close();
  }
}
