import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { succeed } from "../program.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const GUIDE = "docs/guide/client-tools.md";

const guide = await readFile(join(ROOT, GUIDE), "utf8");
const blocks = guide.matchAll(/```ts\n(.*?)```(?:\n\n```text\n(.*?)```)?/gs);
const snippets = Array.from(blocks, ([, code = "", output = ""]) => ({ code, output }));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "convoke-guide-"));
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  await Promise.all(
    snippets.map(({ code }, place) => writeFile(join(folder, `snippet-${place}.ts`), code)),
  );
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  const compilerOptions = {
    composite: false,
    noEmit: true,
    declarationMap: false,
    allowImportingTsExtensions: true,
    customConditions: ["@convoke/source"],
    lib: ["es2024", "dom", "dom.asynciterable", "dom.iterable"],
    types: ["node"],
    rootDir: "/",
  };
  const config = { extends: join(ROOT, "tsconfig.base.json"), compilerOptions };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe(`the code in ${GUIDE}`, () => {
  test("is right to the compiler", async () => {
    const compiler = join(ROOT, "node_modules/.bin/tsc");

    expect(snippets.length).toBe(3);
    expect(await succeed(compiler, ["-p", folder], { cwd: folder })).toBe("");
  });

  for (const [place, { output }] of snippets.entries()) {
    test(`runs, and prints what it says: ${place + 1}`, async () => {
      const args = ["--conditions=@convoke/source", join(folder, `snippet-${place}.ts`)];

      expect(await succeed(process.execPath, args, { cwd: folder })).toBe(output);
    });
  }
});
