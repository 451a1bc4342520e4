import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readmeFor } from "../../docs/.vitepress/examples.ts";
import { siteLink } from "../../docs/.vitepress/links.ts";
import { GROUPS, type Group } from "../../docs/.vitepress/sidebar.ts";
import manifest from "../../package.json" with { type: "json" };
import { PAGES, ROOT, anchorsOf, linksOf, readPage } from "./docs-pages.ts";
import { errorPage } from "./error-page.ts";
import { probePage } from "./probe-page.ts";

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
  // A template, of which VitePress makes a page for each README of the examples.
  const others = ["README.md", "examples/[name].md"];
  expect(pages.filter((page) => !others.includes(page) && !listed.includes(page))).toEqual([]);
  expect(listed.filter((page, place) => listed.indexOf(page) !== place)).toEqual([]);
});

test("every README of an example is a page in the sidebar", () => {
  const listed = GROUPS.flatMap(pagesOf).map((page) => `examples/${readmeFor(page)}`);

  const readmes = PAGES.filter((page) => /^examples\/.*README\.md$/.test(page));
  expect(readmes.filter((page) => !listed.includes(page))).toEqual([]);
});

test("a link to the README of an example leads to its page on the site", () => {
  const link = siteLink("guide/mcp.md", "../../examples/mcp-tools/README.md#run-it");

  expect(link).toBe("../examples/mcp-tools.md#run-it");
  expect(siteLink("examples/bridge.md", "../../examples/README.md")).toBe("index.md");
  expect(siteLink("guide/mcp.md", "../../examples/mcp-tools/agent.ts")).toBeUndefined();
});

test("the page about errors has what the table of errors has; npm run docs:errors writes it", () => {
  const page = readPage("docs/reference/errors.md");

  expect(unformatted(page)).toBe(unformatted(errorPage()));
});

test("the page about probes has all probes of the kit; npm run docs:probes writes it", () => {
  const page = readPage("docs/check/probes.md");

  expect(unformatted(page)).toBe(unformatted(probePage()));
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

  // The proof has commands with variables of the tests.
  const pages = PAGES.filter((page) => page.startsWith("docs/") && page !== "docs/proof.md");
  const used = pages.flatMap(variablesIn);
  expect(used.filter((name) => !settings.includes(name))).toEqual([]);
});

/** Scripts of the project that `convoke init` makes. */
const OF_A_PROJECT = ["dev", "typecheck"];

function variablesIn(page: string): readonly string[] {
  return readPage(page).match(/\bCONVOKE_[A-Z_]*[A-Z]\b/g) ?? [];
}

function pagesOf({ pages, groups = [] }: Group): readonly string[] {
  return [...pages, ...groups.flatMap(pagesOf)];
}

/** Without what the formatter does to tables. */
function unformatted(markdown: string): string {
  return markdown.replaceAll(/-{3,}/g, "---").replaceAll(/[ \n]+/g, " ");
}
