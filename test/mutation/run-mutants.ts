import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Plugin, defaultServerConditions } from "vite";
import { createVitest } from "vitest/node";
import { MUTANTS, type Mutant } from "./mutants.ts";
import { ROOT, mutated } from "./plant-fault.ts";

// Plants one fault after the other into the code of the gate, as it is loaded and nowhere else, and
// runs the gate's tests on each. Prints the faults that no test noticed, as JSON.

const TESTS = [
  "packages/runtime/src/approvals/*.test.ts",
  "packages/protocol/src/extensions/approvals.test.ts",
  "test/loop/approvals.test.ts",
  "test/mutation/executed-is-approved.test.ts",
];

const conditions = ["@convoke/source", ...defaultServerConditions];

/** Each file planted as it is must pass, or the tests would notice everything. */
const SOUND = "sound";

const { values: flags } = parseArgs({ options: { only: { type: "string" } } });
const chosen = flags.only?.split(",").map((place) => MUTANTS[Number(place)]!) ?? MUTANTS;
// One that the code has outgrown must not count as noticed.
for (const mutant of chosen) mutated(mutant);

const survivors = await unnoticed(chosen);
process.stdout.write(`${JSON.stringify({ survivors })}\n`);
// Tests that fail are what this is for, so it ends well; Vitest would have it otherwise.
process.exit(0);

/** Runs the tests on each; the names of those with which all pass. */
async function unnoticed(mutants: readonly Mutant[]): Promise<readonly string[]> {
  const faulty = mutants.map((mutant) => project(nameOf(mutant), planting(mutant)));
  const unchanged = mutants.map((mutant) => planting({ ...mutant, replace: mutant.find }));
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
      include: TESTS,
      pool: "threads",
      isolate: false,
      // A fault may make a test wait for what never comes.
      testTimeout: 15_000,
      env: { CONVOKE_GATE_RUNS: "60", CONVOKE_GATE_END: "first" },
    },
  };
}

function planting(mutant: Mutant): Plugin {
  const path = join(ROOT, mutant.file);
  return {
    name: "mutant",
    enforce: "pre",
    load: (id) => (id.split("?")[0] === path ? mutated(mutant) : undefined),
  };
}

function nameOf({ file, find, replace }: Mutant): string {
  return `${file}: ${find} → ${replace === "" ? "(nothing)" : replace}`;
}
