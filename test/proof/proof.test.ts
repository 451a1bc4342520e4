import { CARD_PROBES, GATE, PROBES } from "@convoke/check";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { type Proof, resultsIn } from "../../scripts/proof/page.ts";
import { PARTS, type Part } from "../../scripts/proof/parts.ts";
import { ATTACK_FAMILIES } from "../attack/attacks/all.ts";
import { FAULT_SCENARIOS } from "../client-faults/index.ts";
import { run } from "../harness/program.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

test("every claim is on its page, and has a script that runs it again", () => {
  const claims = PARTS.flatMap(({ script, claims: all }) => all.map((one) => ({ ...one, script })));

  const stale = claims.filter(({ page, words }) => !readRoot(page).includes(words));
  const unknown = claims.filter(({ script }) => !Object.hasOwn(manifest.scripts, script));
  expect(claims.length).toBeGreaterThan(20);
  expect({ stale, unknown }).toEqual({ stale: [], unknown: [] });
});

test("the comparison promises no more probes, faulty agents and attacks than there are", () => {
  const page = readRoot("docs/comparison.md");
  const promised = (words: string): number =>
    Number(new RegExp(`[Mm]ore than (\\d+) ${words}`).exec(page)?.[1]);
  const attacks = ATTACK_FAMILIES.flatMap((family) => family.attacks);

  expect([GATE, ...CARD_PROBES, ...PROBES].length).toBeGreaterThan(promised("black-box probes"));
  expect(FAULT_SCENARIOS.length).toBeGreaterThan(promised("faulty agents"));
  expect(attacks.length).toBeGreaterThan(promised("attacks on Convoke"));
});

describe("npm run proof", () => {
  test("runs a part, and writes its results with the facts of the machine", async () => {
    const out = temporaryFolder();
    const elsewhere = { machine: { cpu: "another" }, parts: [{ name: "check", results: [] }] };
    writeFileSync(join(out, "proof.json"), JSON.stringify(elsewhere));

    const { code, stdout } = await prove(["--only", "search", "--quick", "--out", out]);

    const { machine, parts } = JSON.parse(readFileSync(join(out, "proof.json"), "utf8")) as Proof;
    const page = readFileSync(join(out, "proof.md"), "utf8");
    expect(code).toBe(0);
    expect(stdout).toContain("1 of 1, search: npm run bench:search -- 1000");
    expect(machine.node).toBe(process.versions.node);
    // The results of another machine are dropped.
    expect(parts.map(({ name }) => name)).toEqual(["search"]);
    expect(parts[0]).toMatchObject({ isQuick: true, exitCode: 0 });
    expect(parts[0]?.results.length).toBe(7);
    expect(page).toMatch(/^\| search +\| \*\*short\*\*/m);
    // A short form has no figures that mean anything.
    expect(page).toMatch(/^\| a rare word, search_files +\|$/m);
  });

  test("rejects a part that does not exist, with the names of all parts", async () => {
    const { code, stderr } = await prove(["--only", "benchmark"]);

    expect(code).toBe(2);
    expect(stderr).toContain("There is no part benchmark; the parts are bench, search,");
  });
});

test("the results of a part are the last table of its output", () => {
  const part = PARTS.find(({ name }) => name === "cluster") as Part;

  const results = resultsIn("|  | old |\n\nready\n| a | b |\n| --- | --- |\n| 1 of 2 |  |\n", part);

  expect(results).toEqual([
    ["a", "b"],
    ["1 of 2", ""],
  ]);
});

function readRoot(page: string): string {
  return readFileSync(join(ROOT, page), "utf8");
}

function prove(args: readonly string[]) {
  const script = join(ROOT, "scripts/proof.ts");
  return run(process.execPath, ["--conditions=@convoke/source", script, ...args], { cwd: ROOT });
}
