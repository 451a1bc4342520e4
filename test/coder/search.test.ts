import { execFileSync } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
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

test("only files of the workspace that are not ignored are searched, or one that is named", async () => {
  const files = await TestWorkspace.with({
    ".gitignore": "ignored.txt\nagain.txt\nnever.txt\n",
    ".ignore": "!again.txt\n!never.txt\n",
    ".rgignore": "never.txt\n",
    "a.txt": "needle",
    "again.txt": "needle",
    "never.txt": "needle",
    "ignored.txt": "needle",
    ".git/config": "needle",
  });
  writeFileSync(join(files.root, "../outside.txt"), "needle");
  symlinkSync("../outside.txt", join(files.root, "link.txt"));
  symlinkSync("..", join(files.root, "up"));
  const search = (path: string): Promise<string> =>
    files.call("search_files", { pattern: "needle", path });

  expect(await search(".")).toBe("a.txt\n1:needle\n\nagain.txt\n1:needle\n\n");
  expect(await search("ignored.txt")).toBe("ignored.txt\n1:needle\n\n");
});

test("a regular expression that takes forever ends with the call", async () => {
  const files = await TestWorkspace.with({ "a.txt": `${"a".repeat(40)}!` });
  const stop = new AbortController();
  const { signal } = stop;
  const input = { pattern: "^(a+)+$" };
  const caller = { owner: "anna" };
  const context = { taskId: "t", contextId: "c", toolCallId: "1", caller, signal };
  const stream = files.tools.get("search_files")!.run(input, context as never) as AsyncGenerator;
  const result = stream.next();
  setTimeout(() => stop.abort(new Error("it took too long")), 200);

  await expect(result).rejects.toThrow("it took too long");
  // The next search has a thread that is not busy.
  expect(await files.call("search_files", { pattern: "a!" })).toContain("a.txt");
});
