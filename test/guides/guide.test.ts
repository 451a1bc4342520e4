import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { succeed } from "../harness/program.ts";
import { verifies } from "../verifies.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const GUIDES = [
  "agents-with-models.md",
  "changing-agents.md",
  "client-tools.md",
  "functions.md",
  "inbound.md",
  "sub-agents.md",
  "testing.md",
  "tracing.md",
];

/** A code block of a guide, and its documented output. */
interface Snippet {
  readonly guide: string;
  readonly heading: string;
  readonly code: string;
  readonly output: string;
}

// The short form runs the first code of each guide; `npm run test:guides` compiles and runs all.
const IS_FULL = process.env["CONVOKE_GUIDES"] === "all";

const snippets = (await Promise.all(GUIDES.map(snippetsOf))).flatMap((all) =>
  IS_FULL ? all : all.slice(0, 1),
);

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

test("each guide has code", () => {
  expect(new Set(snippets.map(({ guide }) => guide))).toEqual(new Set(GUIDES));
});

describe("the code in the guides", () => {
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

  for (const [place, { guide, heading, output }] of snippets.entries()) {
    verifies(
      "loop-L16",
      `of ${guide} under “${heading}” (${place + 1}) runs, and prints the documented output`,
      async () => {
        const args = ["--conditions=@convoke/source", join(folder, `snippet-${place}.ts`)];

        expect(await succeed(process.execPath, args, { cwd: folder })).toBe(output);
      },
    );
  }
});

async function snippetsOf(guide: string): Promise<readonly Snippet[]> {
  const text = await readFile(join(ROOT, "docs/guide", guide), "utf8");
  return text.split(/^#+ /m).flatMap((section): readonly Snippet[] => {
    const [heading = ""] = section.split("\n");
    const blocks = section.matchAll(/```ts\n(.*?)```(?:\n\n```text\n(.*?)```)?/gs);
    return Array.from(blocks, ([, code = "", output = ""]) => ({ guide, heading, code, output }));
  });
}
