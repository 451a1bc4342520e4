/**
 * Runs every comparison and measurement that the README and the docs claim, and writes the results
 * to `docs/proof.md` and `docs/proof.json`:
 *
 *     npm run proof
 *     npm run proof -- --only check,attack
 *     npm run proof -- --quick
 *
 * The exit code is 1 if a part failed.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem, type } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { Database } from "../bench/database.ts";
import { type ProgramName, findProgram, howToGet } from "../test/system-programs.ts";
import { runNpmScript } from "./npm-script.ts";
import {
  type Machine,
  type PartRun,
  type Proof,
  commandOf,
  proofPage,
  resultsIn,
} from "./proof/page.ts";
import { PARTS, type Part } from "./proof/parts.ts";

const { values: options } = parseArgs({
  options: {
    /** Names of parts, with commas. The others keep the results of their last run. */
    only: { type: "string" },
    quick: { type: "boolean", default: false },
    /** The folder of the two files. */
    out: { type: "string", default: fileURLToPath(new URL("../docs", import.meta.url)) },
  },
});

const names = options.only?.split(",") ?? PARTS.map(({ name }) => name);
const unknown = names.filter((name) => !PARTS.some((part) => part.name === name));
if (unknown.length > 0) {
  const known = PARTS.map(({ name }) => name).join(", ");
  console.error(`There is no part ${unknown.join(", ")}; the parts are ${known}.`);
  process.exit(2);
}

const FILES = { page: join(options.out, "proof.md"), json: join(options.out, "proof.json") };
const machine = thisMachine();
const commit = currentCommit();
const runs = new Map(earlierRuns().map((run) => [run.name, run]));
const folder = mkdtempSync(join(process.cwd(), ".convoke-bench-"));
let database: Database | undefined;
try {
  const chosen = PARTS.filter(({ name }) => names.includes(name));
  for (const [place, part] of chosen.entries()) {
    console.log(
      `\n${place + 1} of ${chosen.length}, ${part.name}: ${commandOf(part, options.quick)}`,
    );
    const run = await runPart(part);
    runs.set(part.name, run);
    // After each part, so that an interrupted run leaves the first ones.
    write();
    const { exitCode, seconds, missing } = run;
    console.log(missing ?? `exit status ${exitCode}, ${seconds} s`);
    if (missing === undefined && exitCode !== 0) process.exitCode = 1;
  }
} finally {
  database?.close();
  rmSync(folder, { recursive: true, force: true });
}

async function runPart(part: Part): Promise<PartRun> {
  const isQuick = options.quick && part.quick !== undefined;
  const facts = {
    name: part.name,
    command: commandOf(part, isQuick),
    isQuick,
    at: new Date().toISOString().slice(0, 16),
    commit,
    load: loadavg()[0] ?? 0,
  };
  const missing = (part.needs ?? []).filter((name) => findProgram(name) === undefined);
  if (missing.length > 0) {
    const how = missing.map((name) => `it needs ${name} (${howToGet(name)})`).join(", and ");
    return { ...facts, seconds: 0, exitCode: null, missing: how, results: [] };
  }
  const began = performance.now();
  const { args = [], env = {} } = (isQuick ? part.quick : part.full) ?? {};
  const { code, output } = await runNpmScript(part.script, {
    args,
    env: { ...databaseEnvironment(part), ...env },
    onOutput: (text) => process.stdout.write(text),
  });
  const seconds = Math.round((performance.now() - began) / 1000);
  return { ...facts, seconds, exitCode: code, results: resultsIn(output, part) };
}

/** The address of the database, which is started for the first part that needs it. */
function databaseEnvironment({ needs = [] }: Part): Record<string, string> {
  if (!needs.includes("postgres")) return {};
  database ??= Database.start(folder);
  return { DATABASE_URL: database.newSchema() };
}

function write(): void {
  const parts = PARTS.flatMap(({ name }) => runs.get(name) ?? []);
  const proof: Proof = { machine, parts };
  writeFileSync(FILES.json, `${JSON.stringify(proof, undefined, 2)}\n`);
  writeFileSync(FILES.page, proofPage(proof));
  execFileSync("npx", ["--no-install", "oxfmt", ...Object.values(FILES)]);
}

/** Results of another machine, or of other versions of Node and of the programs, are dropped. */
function earlierRuns(): readonly PartRun[] {
  if (!existsSync(FILES.json)) return [];
  const earlier = JSON.parse(readFileSync(FILES.json, "utf8")) as Proof;
  return isDeepStrictEqual(earlier.machine, machine) ? earlier.parts : [];
}

function thisMachine(): Machine {
  const needed = new Set(PARTS.flatMap(({ needs = [] }) => needs));
  const versions = Array.from(needed, (name) => [name, versionOf(name)]);
  return {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    kernel: `${type()} ${release()}`,
    node: process.versions.node,
    programs: Object.fromEntries(versions) as Readonly<Record<string, string>>,
  };
}

function versionOf(name: ProgramName): string {
  const path = findProgram(name);
  if (path === undefined) return "not installed";
  const { stdout } = spawnSync(path, ["--version"], { encoding: "utf8" });
  return /\d+(?:\.\d+)+/.exec(stdout)?.[0] ?? "unknown";
}

function currentCommit(): string {
  const git = (...args: readonly string[]): string =>
    spawnSync("git", args, { encoding: "utf8" }).stdout?.trim() ?? "";
  const id = git("rev-parse", "--short", "HEAD");
  if (id === "") return "unknown";
  return git("status", "--porcelain", "--", ":!docs") === "" ? id : `${id}, changed`;
}
