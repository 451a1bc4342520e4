import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { entryAt, moveEntry, readContent, removeFile, removeTree, writeContent } from "./files.ts";
import { Workspace } from "./workspace.ts";

const LIMIT = 1000;

async function aWorkspace(): Promise<{ folder: string; root: string; workspace: Workspace }> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "convoke-files-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const root = join(folder, "work");
  mkdirSync(join(root, "a/b"), { recursive: true });
  return { folder, root, workspace: await Workspace.open({ roots: [root] }) };
}

test("a place below a folder that was replaced by a link meanwhile is not used", async () => {
  const { folder, root, workspace } = await aWorkspace();
  for (const path of ["outside/b", "outside/b/c"])
    mkdirSync(join(folder, path), { recursive: true });
  writeFileSync(join(folder, "outside/b/x.txt"), "secret");
  writeFileSync(join(root, "a/b/x.txt"), "inside");
  const file = await workspace.resolve("a/b/x.txt");
  const fresh = await workspace.resolve("a/b/new/y.txt");
  const tree = await workspace.resolve("a/b/c");
  const other = await workspace.resolve("other.txt");
  renameSync(join(root, "a"), join(root, "aside"));
  symlinkSync(join(folder, "outside"), join(root, "a"));

  await expect(readContent(file, LIMIT)).rejects.toThrow("replaced by a link");
  await expect(writeContent(file, Buffer.from("x"))).rejects.toThrow("replaced by a link");
  await expect(writeContent(fresh, Buffer.from("x"))).rejects.toThrow("replaced by a link");
  await expect(removeFile(file)).rejects.toThrow("replaced by a link");
  await expect(removeTree(tree)).rejects.toThrow("replaced by a link");
  await expect(moveEntry(file, other)).rejects.toThrow("replaced by a link");
  expect(await entryAt(file)).toEqual({ type: "missing" });
  expect(readdirSync(join(folder, "outside/b"))).toEqual(["c", "x.txt"]);
  expect(readFileSync(join(folder, "outside/b/x.txt"), "utf8")).toBe("secret");
});

test("writing keeps the mode of a file and leaves other names of it unchanged", async () => {
  const { folder, root, workspace } = await aWorkspace();
  writeFileSync(join(root, "run.sh"), "old");
  chmodSync(join(root, "run.sh"), 0o750);
  linkSync(join(root, "run.sh"), join(folder, "hard-link.sh"));

  await writeContent(await workspace.resolve("run.sh"), Buffer.from("new"));

  expect(readFileSync(join(root, "run.sh"), "utf8")).toBe("new");
  expect(statSync(join(root, "run.sh")).mode & 0o777).toBe(0o750);
  expect(readFileSync(join(folder, "hard-link.sh"), "utf8")).toBe("old");
});

test("a failed write leaves the old file and nothing else", async () => {
  const { root, workspace } = await aWorkspace();

  await expect(writeContent(await workspace.resolve("a"), Buffer.from("new"))).rejects.toThrow(
    "a is a folder",
  );

  expect(readdirSync(root)).toEqual(["a"]);
});

test("a pipe is not read, and does not block", async () => {
  const { root, workspace } = await aWorkspace();
  execFileSync("/usr/bin/mkfifo", [join(root, "pipe")]);

  await expect(readContent(await workspace.resolve("pipe"), LIMIT)).rejects.toThrow(
    "pipe is not a regular file",
  );
});

test("a file above the limit is not read", async () => {
  const { root, workspace } = await aWorkspace();
  writeFileSync(join(root, "big"), "x".repeat(LIMIT + 1));

  await expect(readContent(await workspace.resolve("big"), LIMIT)).rejects.toThrow(
    "big has 1001 bytes, more than the limit 1000",
  );
});
