import { globSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Plugin, defaultServerConditions } from "vite";
import { createVitest } from "vitest/node";
import { stopPostgres } from "../harness/postgres.ts";
import { type PlantedFault, plantFault } from "./plant-fault.ts";
import { ROOT } from "./source-tree.ts";
import { SUITES } from "./suites.ts";

// Plants faults of one suite into the code, each in the loaded modules only, and runs the tests of
// the suite with it. Prints the faults that no test found, as JSON.

const { values: flags } = parseArgs({
  options: { suite: { type: "string", default: "0" }, only: { type: "string" } },
});
const { tests, groups } = SUITES[Number(flags.suite)]!;

const conditions = ["@convoke/source", ...defaultServerConditions];

/** The project with unchanged files: its tests must pass, or every fault would count as found. */
const SOUND = "sound";

for (const pattern of tests) {
  if (globSync(pattern, { cwd: ROOT }).length === 0) throw new Error(`there is no ${pattern}`);
}

process.env["CONVOKE_TEST_DATABASE"] ??= join(tmpdir(), `convoke-database-${process.pid}`);

const all = groups.flat();
const chosen = flags.only?.split(",").map((place) => all[Number(place)]!) ?? all;

const survivors = await unnoticed(chosen.map(plantFault));
stopPostgres();
process.stdout.write(`${JSON.stringify({ survivors })}\n`);
// Failing tests are the purpose of this script, so it succeeds; Vitest would set an exit code.
process.exit(0);

/** Runs the tests with each fault; returns the names of those with which all pass. */
async function unnoticed(faults: readonly PlantedFault[]): Promise<readonly string[]> {
  const faulty = faults.map(({ name, file, faulty: code }) => project(name, planting(file, code)));
  const unchanged = faults.map(({ file, sound }) => planting(file, sound));
  const projects = [project(SOUND, ...unchanged), ...faulty];
  const vitest = await createVitest({
    root: ROOT,
    config: false,
    watch: false,
    projects,
    reporters: [{}],
    maxWorkers: 2,
  });
  await vitest.start();
  const modules = Map.groupBy(vitest.state.getTestModules(), (module) => module.project.name);
  const passing = [...modules].filter(([, own]) => own.every((module) => module.ok()));
  const names = passing.map(([name]) => name);
  await vitest.close();
  if (!names.includes(SOUND)) throw new Error("the tests fail without any fault");
  if (modules.size !== projects.length) throw new Error("some faults were not tried");
  return names.filter((name) => name !== SOUND);
}

function project(name: string, ...plugins: readonly Plugin[]): object {
  return {
    root: ROOT,
    plugins,
    resolve: { conditions },
    ssr: { resolve: { conditions } },
    test: {
      name,
      include: tests,
      pool: "threads",
      isolate: false,
      // It would load a module without its fault, or with that of another run.
      fsModuleCache: false,
      // A fault may make a test wait forever.
      testTimeout: 60_000,
      // Without a fault, as in any other run. With one, most polls wait in vain.
      expect: { poll: { timeout: name === SOUND ? 20_000 : 1000 } },
      env: { CONVOKE_GATE_RUNS: "60", CONVOKE_GATE_END: "first" },
    },
  };
}

function planting(file: string, code: string): Plugin {
  const path = join(ROOT, file);
  return {
    name: "mutant",
    enforce: "pre",
    load: (id) => (id.split("?")[0] === path ? code : undefined),
  };
}
