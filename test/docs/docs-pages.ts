import { globSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { isElsewhere, slugOf } from "../../docs/.vitepress/links.ts";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Every page that people write, relative to the root. */
export const PAGES: readonly string[] = [
  "README.md",
  "CONTRIBUTING.md",
  ...globSync(["docs/**/*.md", "examples/**/*.md", "packages/*/README.md"], {
    cwd: ROOT,
    exclude: ["**/node_modules/**", "docs/api/**"],
  }).toSorted(),
];

/** A link of a page to another file of the repository, or to a heading of the same page. */
export interface Link {
  readonly href: string;
  /** Relative to the root. */
  readonly target: string;
  readonly anchor: string | undefined;
}

export function linksOf(page: string): readonly Link[] {
  const text = withoutCode(readPage(page));
  return Array.from(text.matchAll(/\]\(([^)\s]+)\)/g), ([, href = ""]) => href)
    .filter((href) => href.startsWith("#") || !isElsewhere(href))
    .map((href) => {
      const [path = "", anchor] = href.split("#");
      const target = path === "" ? page : posix.join(dirname(page), path);
      return { href, target, anchor };
    });
}

/** The ids of the headings of a page. A repeated one has a number. */
export function anchorsOf(page: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  const text = withoutBlocks(readPage(page));
  for (const [, heading = ""] of text.matchAll(/^#{1,6} (.+)$/gm)) {
    const slug = slugOf(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1"));
    let anchor = slug;
    for (let number = 1; anchors.has(anchor); number++) anchor = `${slug}-${number}`;
    anchors.add(anchor);
  }
  return anchors;
}

/** The code blocks of a page in one language. */
export function blocksOf(page: string, language: string): readonly string[] {
  const blocks = readPage(page).matchAll(/^```(\w+)\n(.*?)^```/gms);
  return [...blocks].flatMap(([, name, code = ""]) => (name === language ? [code] : []));
}

export function readPage(page: string): string {
  return readFileSync(join(ROOT, page), "utf8");
}

function withoutBlocks(text: string): string {
  return text.replaceAll(/^```.*?^```/gms, "");
}

function withoutCode(text: string): string {
  return withoutBlocks(text).replaceAll(/`[^`\n]*`/g, "");
}
