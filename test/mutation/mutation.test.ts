import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { succeed } from "../harness/program.ts";
import { verifies } from "../verifies.ts";
import { condition, operand, plantFault } from "./plant-fault.ts";
import { ROOT, filesOf, findDeclaration } from "./source-tree.ts";
import { type MutantSuite, SUITES } from "./suites.ts";

// Each takes a run of the tests: CI plants some, and `npm run test:mutation` all.
const PLANTED = process.env["CONVOKE_MUTANTS"] ?? "none";
const PLANTS_ALL = PLANTED === "all";
/** More would only use memory. */
const AT_ONCE = 8;
/** For one batch: some faults make tests wait until they time out. */
const TIMEOUT_MS = 600_000;

const SUITES_TO_RUN = PLANTED === "none" ? [] : SUITES.filter(({ some }) => PLANTS_ALL || some > 0);

for (const suite of SUITES_TO_RUN) {
  verifies(
    suite.breaks,
    `every fault in ${suite.name} that ${suite.lets} is found`,
    async () => expect(await survivorsOf(suite)).toEqual([]),
    PLANTS_ALL ? 6 * TIMEOUT_MS : TIMEOUT_MS,
  );
}

/** The faults of a suite that its tests do not find. */
async function survivorsOf(suite: MutantSuite): Promise<readonly string[]> {
  const { groups, some } = suite;
  const all = groups.flat();
  const chosen = PLANTS_ALL ? all : groups.slice(0, some).map((group) => group[0]!);
  const places = chosen.map((mutant) => all.indexOf(mutant));
  const script = fileURLToPath(new URL("./run-mutants.ts", import.meta.url));
  const survivors: string[] = [];
  for (let from = 0; from < places.length; from += AT_ONCE) {
    const only = places.slice(from, from + AT_ONCE).join();
    const place = String(SUITES.indexOf(suite));
    const args = ["--conditions=@convoke/source", script, "--suite", place, "--only", only];
    const printed = await succeed(process.execPath, args, { cwd: ROOT, timeoutMs: TIMEOUT_MS });
    survivors.push(...(JSON.parse(printed) as { readonly survivors: string[] }).survivors);
  }
  return survivors;
}

test("every fault has its place in the code, and no two are the same", () => {
  const planted = SUITES.flatMap(({ groups }) => groups.flat()).map((one) => plantFault(one));

  for (const { sound, faulty, name } of planted) expect(faulty, name).not.toBe(sound);
  const different = new Set(planted.map(({ file, faulty }) => `${file}\n${faulty}`));
  expect(different.size).toBe(planted.length);
});

test("a fault whose place is missing or ambiguous is an error that names it", () => {
  const mutant = { package: "runtime", in: "mayRun", at: operand("outcome"), to: () => "true" };

  expect(() => plantFault({ ...mutant, in: "mightRun" })).toThrow(
    "packages/runtime declares mightRun 0 times instead of once",
  );
  expect(() => plantFault({ ...mutant, at: condition("gone") })).toThrow(
    /^mayRun in .* has 0 times instead of once: condition with gone/,
  );
  expect(() => plantFault({ ...mutant, at: operand("===") })).toThrow("3 times instead of once");
});

test("the body of a tool is called in one place, right behind the gate", () => {
  const gate = findDeclaration("runtime", "begin");
  const caller = findDeclaration("runtime", "CallRun.#execute");
  const holding = (pattern: RegExp): readonly string[] =>
    filesOf("runtime")
      .filter(({ source }) => pattern.test(source))
      .map(({ file }) => file)
      .toSorted();

  expect(holding(/\btool\.run\(/i)).toEqual([gate.file]);
  expect(holding(/\brunTool\(tool\b/)).toEqual([caller.file, gate.file].toSorted());
  expect(gate.source).toMatch(
    /if \(!mayRun\(call, decisions\)\) throw [^\n]*\n\s*return tool\.run\(/,
  );
});
