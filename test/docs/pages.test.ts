import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { GROUPS, type Group } from "../../docs/.vitepress/sidebar.ts";
import { PAGES, ROOT, anchorsOf, linksOf } from "./docs-pages.ts";
import { errorPage } from "./error-page.ts";

test("every link between pages leads to a file, and to a heading in it", () => {
  const broken = PAGES.flatMap((page) =>
    linksOf(page)
      .filter(({ target, anchor }) => {
        if (!existsSync(join(ROOT, target))) return true;
        return anchor !== undefined && target.endsWith(".md") && !anchorsOf(target).has(anchor);
      })
      .map(({ href }) => `${page}: ${href}`),
  );

  expect(broken).toEqual([]);
});

test("every page of the docs is in the sidebar of the site, once", () => {
  const listed = GROUPS.flatMap(pagesOf);

  const pages = PAGES.filter((page) => page.startsWith("docs/")).map((page) => page.slice(5));
  expect(pages.filter((page) => page !== "README.md" && !listed.includes(page))).toEqual([]);
  expect(listed.filter((page, place) => listed.indexOf(page) !== place)).toEqual([]);
});

test("the page about errors has what the table of errors has; npm run docs:errors writes it", () => {
  const page = readFileSync(join(ROOT, "docs/reference/errors.md"), "utf8");

  expect(unformatted(page)).toBe(unformatted(errorPage()));
});

function pagesOf({ pages, groups = [] }: Group): readonly string[] {
  return [...pages, ...groups.flatMap(pagesOf)];
}

/** Without what the formatter does to tables. */
function unformatted(markdown: string): string {
  return markdown.replaceAll(/-{3,}/g, "---").replaceAll(/[ \n]+/g, " ");
}
