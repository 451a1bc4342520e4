import { copyFile, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { succeed } from "../harness/program.ts";
import { verifies } from "../verifies.ts";
import { type Snippet, pagesWithCode, snippetsOf } from "./snippets.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The pages of which every piece of code is run. Of the others, what has a documented output is. */
const GUIDES = [
  "agents-with-models.md",
  "changing-agents.md",
  "client-tools.md",
  "functions.md",
  "inbound.md",
  "sub-agents.md",
  "testing.md",
  "tracing.md",
].map((name) => `docs/guide/${name}`);

// The short form runs the first code of each guide; `npm run test:guides` compiles the code of all
// pages and runs all that can be run.
const IS_FULL = process.env["CONVOKE_GUIDES"] === "all";

const pages = IS_FULL ? pagesWithCode(ROOT) : GUIDES;
const snippets = (await Promise.all(pages.map((page) => snippetsOf(ROOT, page)))).flatMap((all) =>
  IS_FULL ? all : all.slice(0, 1),
);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "convoke-guide-"));
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  await Promise.all(
    snippets.map(({ code }, place) =>
      // A fragment without imports is a module, too.
      writeFile(join(folder, `snippet-${place}.ts`), `${code}\nexport {};\n`),
    ),
  );
  await copyFile(join(ROOT, "examples/greeter/agent.ts"), join(folder, "agent.ts"));
  await copyFile(
    join(ROOT, "test/guides/fragment-names.d.ts"),
    join(folder, "fragment-names.d.ts"),
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

test("each guide has code", () => {
  const withCode = new Set(snippets.map(({ page }) => page));

  expect(GUIDES.filter((guide) => !withCode.has(guide))).toEqual([]);
});

describe("the code in the docs", () => {
  if (IS_FULL) {
    verifies(
      "loop-L16",
      "compiles",
      async () => {
        const compiler = join(ROOT, "node_modules/.bin/tsc");

        expect(await succeed(compiler, ["-p", folder], { cwd: folder })).toBe("");
      },
      120_000,
    );
  }

  for (const [place, snippet] of snippets.entries()) {
    if (!isRun(snippet)) continue;
    const { page, heading, output } = snippet;
    verifies(
      "loop-L16",
      `of ${page} under “${heading}” (${place + 1}) runs, and prints the documented output`,
      async () => {
        const args = ["--conditions=@convoke/source", join(folder, `snippet-${place}.ts`)];

        expect(await succeed(process.execPath, args, { cwd: folder })).toBe(output);
      },
    );
  }
});

function isRun({ page, output }: Snippet): boolean {
  return GUIDES.includes(page) || output !== "";
}
