import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ScriptedModel, scriptedModel } from "convoke/testing";
import { expect, test } from "vitest";
import { blocksOf } from "../../test/docs/docs-pages.ts";
import { aFolder } from "../../test/embedding/example.ts";
import { run, succeed } from "../../test/harness/program.ts";
import { fix } from "./fix.ts";
import { sampleRepository } from "./sample-repository.ts";

const README = "examples/coder-ci/README.md";
const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));
const ARGS = ["--conditions=@convoke/source", MAIN];

test("without a key, the job prints what the README says, and its patch makes the tests pass", async () => {
  const cwd = await aFolder();

  const output = await succeed(process.execPath, ARGS, { cwd, env: { TMPDIR: cwd } });

  const patch = join(cwd, "fix.patch");
  const [expected] = blocksOf(README, "text");
  expect(output).toBe(expected!.replace("/builds/shop/fix.patch", patch));
  expect(readFileSync(patch, "utf8")).toBe(blocksOf(README, "diff")[0]);
  const workspace = sampleRepository(join(cwd, "another"));
  execFileSync("git", ["apply", patch], { cwd: workspace });
  await succeed(process.execPath, ["--test"], { cwd: workspace });
});

test("a job whose agent finds nothing ends with exit code 1, and without a patch", async () => {
  const cwd = await aFolder();

  const env = { TMPDIR: cwd, MODEL: "demo" };
  const { code, stdout } = await run(process.execPath, ARGS, { cwd, env });

  expect(code).toBe(1);
  expect(stdout).toContain("Result: not fixed");
  expect(existsSync(join(cwd, "fix.patch"))).toBe(false);
});

test("an agent that changes the test instead of the code is not allowed to", async () => {
  const edits = [{ oldText: "60", newText: "23" }];
  const model = scriptedModel([
    { kind: "tool-call", toolName: "edit_file", input: { path: "cart.test.js", edits } },
    { kind: "tool-call", toolName: "run_shell", input: { command: "git stash" } },
    "I could not fix it.",
  ]);
  const workspace = sampleRepository(await aFolder());
  const lines: string[] = [];

  const patch = join(workspace, "fix.patch");
  const outcome = await fix({ workspace, model, patch, print: (line) => lines.push(line) });

  expect(outcome).toBe("not fixed");
  expect(resultsOf(model).every(({ isError }) => isError)).toBe(true);
  expect(execFileSync("git", ["status", "--short"], { cwd: workspace, encoding: "utf8" })).toBe("");
  // A rule that denies asks nobody.
  expect(lines.some((line) => line.startsWith("Not allowed"))).toBe(false);
});

function resultsOf({ requests }: ScriptedModel): readonly { readonly isError: boolean }[] {
  const { transcript } = requests.at(-1)!;
  return transcript.flatMap((entry) => (entry.role === "tool" ? entry.results : []));
}
