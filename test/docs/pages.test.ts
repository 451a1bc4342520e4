import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { GROUPS, type Group } from "../../docs/.vitepress/sidebar.ts";
import manifest from "../../package.json" with { type: "json" };
import { PAGES, ROOT, anchorsOf, linksOf, readPage } from "./docs-pages.ts";
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
  const page = readPage("docs/reference/errors.md");

  expect(unformatted(page)).toBe(unformatted(errorPage()));
});

test("every npm script that the docs name exists", () => {
  const named = PAGES.flatMap((page) =>
    Array.from(readPage(page).matchAll(/npm run (?:-s )?([a-z:-]+)/g), ([, name = ""]) => name),
  );

  const scripts = new Set([...Object.keys(manifest.scripts), ...OF_A_PROJECT]);
  expect(named.filter((name) => !scripts.has(name))).toEqual([]);
});

test("every setting that the docs name is in the table of settings", () => {
  const settings = variablesIn("docs/guide/settings.md");

  const used = PAGES.filter((page) => page.startsWith("docs/")).flatMap(variablesIn);
  expect(used.filter((name) => !settings.includes(name))).toEqual([]);
});

test("every metric in the queries for monitoring is in the table of metrics", () => {
  const metrics = metricsIn("docs/guide/operating.md");

  const used = metricsIn("docs/operating/monitoring.md");
  expect(used.filter((name) => !metrics.includes(name))).toEqual([]);
});

/** Scripts of the project that `convoke init` makes. */
const OF_A_PROJECT = ["dev", "typecheck"];

function variablesIn(page: string): readonly string[] {
  return readPage(page).match(/\bCONVOKE_[A-Z_]*[A-Z]\b/g) ?? [];
}

/** Without the suffix that a histogram has in queries. */
function metricsIn(page: string): readonly string[] {
  const names = readPage(page).matchAll(/\b(convoke_[a-z_]+?)(?:_bucket)?\b/g);
  return Array.from(names, ([, name = ""]) => name);
}

function pagesOf({ pages, groups = [] }: Group): readonly string[] {
  return [...pages, ...groups.flatMap(pagesOf)];
}

/** Without what the formatter does to tables. */
function unformatted(markdown: string): string {
  return markdown.replaceAll(/-{3,}/g, "---").replaceAll(/[ \n]+/g, " ");
}
