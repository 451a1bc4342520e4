import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { findProgram } from "./system-programs.ts";

/** A folder with programs of these names, which is removed when the test ends. */
async function aFolderWith(...names: readonly string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "convoke-programs-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const name of names) {
    await writeFile(join(folder, name), "");
    await chmod(join(folder, name), 0o755);
  }
  return folder;
}

test("a program is found at the path in its variable, before PATH", async () => {
  const folder = await aFolderWith("chromium", "mine");

  expect(findProgram("chromium", { PATH: folder, CHROMIUM_PATH: join(folder, "mine") })).toBe(
    join(folder, "mine"),
  );
  expect(findProgram("chromium", { PATH: folder, CHROMIUM_PATH: "" })).toBe(
    join(folder, "chromium"),
  );
});

test("a program is found on PATH under any of its names, the likeliest first", async () => {
  const other = await aFolderWith("google-chrome");
  const likely = await aFolderWith("chromium");

  expect(findProgram("chromium", { PATH: other })).toBe(join(other, "google-chrome"));
  expect(findProgram("chromium", { PATH: `${other}:${likely}` })).toBe(join(likely, "chromium"));
});

test("a folder and a file that is not executable are not programs", async () => {
  const folder = await aFolderWith();
  await mkdir(join(folder, "chromium"));
  await writeFile(join(folder, "google-chrome"), "", { mode: 0o644 });

  expect(findProgram("chromium", { PATH: folder })).toBeUndefined();
  expect(findProgram("chromium", {})).toBeUndefined();
});

test("a variable with a wrong path is an error that names it", () => {
  expect(() => findProgram("chromium", { CHROMIUM_PATH: "/nowhere/chromium" })).toThrow(
    "CHROMIUM_PATH must be the path of chromium: /nowhere/chromium is no program",
  );
});
