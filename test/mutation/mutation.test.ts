import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { succeed } from "../program.ts";
import { verifies } from "../verifies.ts";
import { MUTANTS } from "./mutants.ts";
import { ROOT, mutated } from "./plant-fault.ts";

// The short form; `npm run test:mutation` plants them all.
const PLANTS_ALL = process.env["CONVOKE_MUTANTS"] === "all";
const SOME = 4;
/** More would only take memory. */
const AT_ONCE = 8;

verifies(
  "G11",
  "no fault in the gate, or on the way to it, lets a guarded tool run without its decision and goes unnoticed",
  async () => {
    const places = PLANTS_ALL ? MUTANTS.map((_, place) => place) : firstOfEachFile().slice(0, SOME);
    const script = fileURLToPath(new URL("./run-mutants.ts", import.meta.url));
    const survivors: string[] = [];
    for (let from = 0; from < places.length; from += AT_ONCE) {
      const only = places.slice(from, from + AT_ONCE).join();
      const args = ["--conditions=@convoke/source", script, "--only", only];
      const printed = await succeed(process.execPath, args, { cwd: ROOT });
      survivors.push(...(JSON.parse(printed) as { readonly survivors: string[] }).survivors);
    }

    expect(survivors).toEqual([]);
  },
  600_000,
);

test("every fault still has its place in the code", () => {
  for (const mutant of MUTANTS) expect(() => mutated(mutant)).not.toThrow();
});

test("the body of a tool begins in one place, right behind the gate", () => {
  const sources = globSync("packages/runtime/src/**/*.ts", { cwd: ROOT })
    .filter((file) => !/\.(test|suite)\.ts$/.test(file))
    .map((file) => ({ file, source: readFileSync(`${ROOT}/${file}`, "utf8") }));
  const holding = (pattern: RegExp): readonly string[] =>
    sources
      .filter(({ source }) => pattern.test(source))
      .map(({ file }) => file)
      .toSorted();

  expect(holding(/\btool\.run\(/i)).toEqual(["packages/runtime/src/loop/run-tool.ts"]);
  expect(holding(/\brunTool\(tool\b/)).toEqual([
    "packages/runtime/src/loop/call-run.ts",
    "packages/runtime/src/loop/run-tool.ts",
  ]);
  const [gate] = sources.filter(({ file }) => file.endsWith("/run-tool.ts"));
  expect(gate?.source).toMatch(
    /if \(!mayRun\(call, decisions\)\) throw [^\n]*\n\s*return tool\.run\(/,
  );
});

function firstOfEachFile(): readonly number[] {
  const files = MUTANTS.map(({ file }) => file);
  return [...new Set(files)].map((file) => files.indexOf(file));
}
