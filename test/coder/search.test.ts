import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { randomFrom } from "../harness/random.ts";
import { needs } from "../needs.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { growTree } from "./a-random-tree.ts";
import { TestWorkspace } from "./a-workspace.ts";

/** How many random trees are compared. `npm run test:coder` compares more. */
const TREES = Number(process.env["CONVOKE_SEARCH_TREES"] ?? 6);

const TIMEOUT_MS = 60_000 * Math.max(1, TREES / 6);

async function aRandomWorkspace(seed: number, ignoreFiles: readonly string[]) {
  const folder = temporaryFolder();
  const root = join(folder, "work");
  growTree(randomFrom(seed), root, ignoreFiles);
  return TestWorkspace.at(root, join(folder, "data"));
}

describe("compared with git", () => {
  const git = needs("git");

  test(
    "the same files are left out, for any .gitignore files",
    async () => {
      for (let seed = 1; seed <= TREES; seed++) {
        const files = await aRandomWorkspace(seed, [".gitignore"]);
        const run = (...args: readonly string[]): string =>
          execFileSync(git(), args, { cwd: files.root, encoding: "utf8" });
        run("init", "--quiet");
        const listed = run("ls-files", "-z", "--others", "--exclude-standard");

        const found = await files.call("glob", { pattern: "**" });

        const expected = listed.split("\0").filter((path) => path !== "");
        const actual = found.split("\n").filter((path) => path !== "[no file matches]");
        expect(actual.toSorted(), `seed ${seed}`).toEqual(expected.toSorted());
      }
    },
    TIMEOUT_MS,
  );
});

describe("compared with ripgrep", () => {
  const ripgrep = needs("ripgrep");

  const queries = [
    { pattern: "needle" },
    { pattern: "needle$" },
    { pattern: "NEEDLE", ignoreCase: true },
    { pattern: "foo(bar)", literal: true },
    { pattern: "^\\w+ (needle|and)", context: 2 },
    { pattern: "needle", glob: "*.{ts,js}" },
    { pattern: "needle", path: "src", glob: "**/*.ts" },
    { pattern: "needle", path: "dist" },
    { pattern: "n(?=eed)" },
    { pattern: "[^a-z ]needle" },
    { pattern: "[[(]" },
    { pattern: "\\W\\w+\\s*$" },
    { pattern: "\\bneedle\\b" },
  ];

  test(
    "the search without it finds the same lines, for any ignore files",
    async () => {
      for (let seed = 1; seed <= TREES; seed++) {
        const ignoreFiles = [".gitignore", ".ignore", ".rgignore"];
        const files = await aRandomWorkspace(seed, ignoreFiles);
        mkdirSync(join(files.root, "src"), { recursive: true });
        mkdirSync(join(files.root, "dist"), { recursive: true });
        for (const query of queries) {
          const input = { ...query, limit: 1000 };
          vi.stubEnv("CONVOKE_RG", ripgrep());
          const fast = await files.call("search_files", input);
          vi.stubEnv("CONVOKE_RG", "");
          const slow = await files.call("search_files", input);
          vi.unstubAllEnvs();

          const filesOf = (text: string) => text.split("\n\n").toSorted();
          expect(filesOf(fast), `seed ${seed}, ${JSON.stringify(query)}`).toEqual(filesOf(slow));
        }
      }
    },
    TIMEOUT_MS,
  );
});

test("of the files that ripgrep names, only those that the jail confirms are shown", async () => {
  const files = await TestWorkspace.with({
    ".gitignore": "ignored.txt\n",
    "a.txt": "needle",
    "hay.txt": "hay",
    "ignored.txt": "needle",
    ".git/config": "needle",
  });
  writeFileSync(join(files.root, "../outside.txt"), "needle");
  symlinkSync("../outside.txt", join(files.root, "link.txt"));
  symlinkSync("..", join(files.root, "up"));
  const named = ["./a.txt", "hay.txt", "ignored.txt", ".git/config", "link.txt", "up/outside.txt"];
  const outside = ["../outside.txt", "a/../../outside.txt", join(files.root, "../outside.txt"), ""];
  const program = join(files.data, "rg");
  const list = [...named, ...outside].map((path) => `${path}\\0`).join("");
  writeFileSync(program, `#!/bin/sh\nprintf '${list}'\n`, { mode: 0o755 });
  vi.stubEnv("CONVOKE_RG", program);
  onTestFinished(() => void vi.unstubAllEnvs());

  expect(await files.call("search_files", { pattern: "needle" })).toBe("a.txt\n1:needle\n\n");
});

test("a regular expression that takes forever ends with the call", async () => {
  // Ripgrep would find out in no time that nothing matches.
  vi.stubEnv("CONVOKE_RG", "");
  onTestFinished(() => void vi.unstubAllEnvs());
  const files = await TestWorkspace.with({ "a.txt": `${"a".repeat(40)}!` });
  const stop = new AbortController();
  const { signal } = stop;
  // ripgrep has no look-ahead, so it cannot rule the file out first.
  const input = { pattern: "^(?=a)(a+)+$" };
  const caller = { owner: "anna" };
  const context = { taskId: "t", contextId: "c", toolCallId: "1", caller, signal };
  const stream = files.tools.get("search_files")!.run(input, context as never) as AsyncGenerator;
  const result = stream.next();
  setTimeout(() => stop.abort(new Error("it took too long")), 200);

  await expect(result).rejects.toThrow("it took too long");
  // The next search has a thread that is not busy.
  expect(await files.call("search_files", { pattern: "a!" })).toContain("a.txt");
});
