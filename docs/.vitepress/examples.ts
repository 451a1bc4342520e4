import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { isElsewhere } from "./links.ts";

export const EXAMPLES = fileURLToPath(new URL("../../examples", import.meta.url));

/** The README that is a page of the site, relative to the folder of the examples. */
export function readmeFor(page: string): string | undefined {
  if (page === "examples/README.md") return "README.md";
  const [, name] = /^examples\/(.+)\.md$/.exec(page) ?? [];
  return name === undefined ? undefined : `${name}/README.md`;
}

/** A README of the examples as a page in `docs/examples`: with links that lead to the same files. */
export function examplePage(file: string): string {
  const text = readFileSync(join(EXAMPLES, file), "utf8");
  return text.replaceAll(/\]\(([^)\s]+)\)/g, (link, href: string) => {
    if (isElsewhere(href)) return link;
    const target = posix.join("../../examples", posix.dirname(file), href);
    return `](${target.replace("../../docs/", "../")})`;
  });
}
