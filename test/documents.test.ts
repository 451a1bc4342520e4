import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

const PAGES = globSync(
  [
    "*.md",
    ".changeset/*.md",
    ".github/**/*.{md,yml}",
    "docs/**/*.md",
    "{packages,apps,examples}/*/*.md",
  ],
  { cwd: ROOT, exclude: (path) => path.includes("node_modules") },
).map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));

test("every link from a page to a file of the repository leads to one", () => {
  const links = PAGES.flatMap(({ path, text }) =>
    Array.from(withoutCode(text).matchAll(/\]\((?!https?:|mailto:|#)([^)#\s]+)(?:#[^)]*)?\)/g)).map(
      ([, target = ""]) => ({ path, target }),
    ),
  );

  const broken = links.filter(({ path, target }) => !existsSync(join(ROOT, dirname(path), target)));

  expect(links.length).toBeGreaterThan(300);
  expect(broken).toEqual([]);
});

test("every npm script that a page or a workflow names exists", () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  // Pages for users name the scripts of their own projects.
  const ours = PAGES.filter(
    ({ path }) => !/^(docs\/(?:guide\/|quick-start)|apps\/|examples\/)/.test(path),
  );
  const named = ours.flatMap(({ path, text }) =>
    Array.from(text.matchAll(/npm run ([\w:-]+)/g), ([, script = ""]) => ({ path, script })),
  );

  const unknown = named.filter(({ script }) => !Object.hasOwn(scripts, script));

  expect(named.length).toBeGreaterThan(20);
  expect(unknown).toEqual([]);
});

function withoutCode(text: string): string {
  return text.replaceAll(/^ *```[\s\S]*?^ *```/gm, "").replaceAll(/`[^`\n]*`/g, "");
}
